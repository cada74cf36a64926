// Vectors of words: from the wire, mixed out of layers, compared.
//
// L layers, n words of a sentence, D size of a vector

// Base64 of little-endian float32, as the server sends it.
export function decoded(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  const view = new DataView(bytes.buffer);
  const values = new Float32Array(bytes.length / 4);
  for (let place = 0; place < values.length; place++) {
    values[place] = view.getFloat32(4 * place, true);
  }
  return values;
}

// Weights of length L -> n arrays of length D, each of length 1; layers lie one after the other.
export function mixed({ layers, shape: [depth, count, size] }, weights) {
  const rows = [];
  for (let word = 0; word < count; word++) {
    const row = new Float64Array(size);
    for (let layer = 0; layer < depth; layer++) {
      const weight = weights[layer];
      if (weight === 0) continue;
      const first = (layer * count + word) * size;
      for (let place = 0; place < size; place++) row[place] += weight * layers[first + place];
    }
    rows.push(unit(row));
  }
  return rows;
}

export function cosine(first, second) {
  let sum = 0;
  for (let place = 0; place < first.length; place++) sum += first[place] * second[place];
  return sum;
}

// One layer alone, as weights.
export function onlyLayer(layer, depth) {
  return Array.from({ length: depth }, (_, place) => (place === layer ? 1 : 0));
}

// Shares that add up to 1; where all are 0, all alike.
export function shares(amounts) {
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  return amounts.map((amount) => (total > 0 ? amount / total : 1 / amounts.length));
}

function unit(row) {
  const length = Math.sqrt(cosine(row, row));
  if (length > 0) for (let place = 0; place < row.length; place++) row[place] /= length;
  return row;
}
