// The two directions in which points differ most (principal component analysis).
//
// The N x N products of the centred points have the same components as their D x D covariance,
// and there are fewer words than dimensions. A block of vectors is multiplied by them until its
// first two stand still. Everything starts from fixed numbers, so the answer is always the same.

const BLOCK = 8;
const ROUNDS = 400;
const TOLERANCE = 1e-9;

// N rows of length D -> N pairs [x, y].
export function principal(rows) {
  const count = rows.length;
  if (count < 2) return rows.map(() => [0, 0]);
  const products = centredProducts(rows);
  const { vectors, values } = leading(products, count);
  const axes = [0, 1].map((axis) => {
    if (axis >= vectors.length) return new Float64Array(count);
    const length = Math.sqrt(Math.max(values[axis], 0));
    return pointedUp(vectors[axis].map((value) => value * length));
  });
  return rows.map((_, place) => [axes[0][place], axes[1][place]]);
}

function centredProducts(rows) {
  const count = rows.length;
  const size = rows[0].length;
  const mean = new Float64Array(size);
  for (const row of rows) for (let place = 0; place < size; place++) mean[place] += row[place];
  const centred = rows.map((row) => {
    const moved = new Float64Array(size);
    for (let place = 0; place < size; place++) moved[place] = row[place] - mean[place] / count;
    return moved;
  });
  const products = new Float64Array(count * count);
  for (let one = 0; one < count; one++) {
    for (let other = one; other < count; other++) {
      const product = dot(centred[one], centred[other]);
      products[one * count + other] = product;
      products[other * count + one] = product;
    }
  }
  return products;
}

function leading(products, count) {
  const width = Math.min(BLOCK, count);
  let vectors = orthonormal(startingBlock(width, count));
  let values = [];
  for (let round = 0; round < ROUNDS; round++) {
    const images = vectors.map((vector) => times(products, vector));
    const small = vectors.map((vector) => images.map((image) => dot(vector, image)));
    const turned = symmetricEigen(small);
    values = turned.values;
    const ritz = turned.vectors.map((weights) => combined(weights, vectors));
    const moved = turned.vectors.map((weights) => combined(weights, images));
    const limit = TOLERANCE * Math.max(values[0], Number.MIN_VALUE);
    const still = [0, 1].every(
      (axis) => axis >= width || distance(moved[axis], ritz[axis], values[axis]) <= limit,
    );
    if (still) return { vectors: ritz, values };
    vectors = orthonormal(moved);
  }
  return { vectors, values };
}

// Numbers without pattern, always the same ones.
function startingBlock(width, count) {
  let seed = 1;
  return Array.from({ length: width }, () =>
    Float64Array.from({ length: count }, () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647 - 0.5;
    }),
  );
}

function orthonormal(vectors) {
  const kept = [];
  for (const vector of vectors) {
    const rest = Float64Array.from(vector);
    const before = Math.sqrt(dot(rest, rest));
    for (let again = 0; again < 2; again++) {
      for (const other of kept) {
        const share = dot(rest, other);
        for (let place = 0; place < rest.length; place++) rest[place] -= share * other[place];
      }
    }
    const length = Math.sqrt(dot(rest, rest));
    // What depends on the others is left as zeros: it has nothing to add.
    const scale = length > 1e-12 * before && length > 0 ? 1 / length : 0;
    for (let place = 0; place < rest.length; place++) rest[place] *= scale;
    kept.push(rest);
  }
  return kept;
}

// Jacobi's method for a small symmetric matrix; the largest value comes first.
function symmetricEigen(matrix) {
  const size = matrix.length;
  const a = matrix.map((row) => Float64Array.from(row));
  const v = a.map((_, one) => Float64Array.from({ length: size }, (_, two) => +(one === two)));
  for (let sweep = 0; sweep < 40; sweep++) {
    let largest = 0;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        largest = Math.max(largest, Math.abs(a[p][q]));
        if (a[p][q] === 0) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < size; k++) {
          [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        }
        for (let k = 0; k < size; k++) {
          [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
          [v[p][k], v[q][k]] = [c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]];
        }
      }
    }
    if (largest <= Number.EPSILON * Math.abs(a[0][0])) break;
  }
  const order = [...a.keys()].sort((one, two) => a[two][two] - a[one][one]);
  return { values: order.map((k) => a[k][k]), vectors: order.map((k) => v[k]) };
}

// A component may point either way: its longest entry is made positive.
function pointedUp(axis) {
  let longest = 0;
  for (const value of axis) if (Math.abs(value) > Math.abs(longest) + 1e-9) longest = value;
  return longest < 0 ? axis.map((value) => -value) : axis;
}

function times(matrix, vector) {
  const count = vector.length;
  const image = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    let sum = 0;
    for (let place = 0; place < count; place++) sum += matrix[row * count + place] * vector[place];
    image[row] = sum;
  }
  return image;
}

function combined(weights, vectors) {
  const sum = new Float64Array(vectors[0].length);
  vectors.forEach((vector, which) => {
    for (let place = 0; place < sum.length; place++) sum[place] += weights[which] * vector[place];
  });
  return sum;
}

function distance(moved, vector, value) {
  let sum = 0;
  for (let place = 0; place < vector.length; place++) {
    sum += (moved[place] - value * vector[place]) ** 2;
  }
  return Math.sqrt(sum);
}

function dot(first, second) {
  let sum = 0;
  for (let place = 0; place < first.length; place++) sum += first[place] * second[place];
  return sum;
}
