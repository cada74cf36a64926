// Where labels go on the map, so that they lie neither on each other nor on points.

// Between a point and its label.
export const GAP = 9;

// `items` are {x, y, width, height, gap} in the order of their importance, `size` is [width, height].
// Gives for each [dx, dy, anchor], or null where no place is free.
export function placeLabels(items, [width, height]) {
  const points = items.map(({ x, y }) => box(x - 6, y - 6, 12, 12));
  const taken = [];
  return items.map((item, own) => {
    for (const [dx, dy, anchor] of places(item)) {
      const left = item.x + dx - (anchor === "middle" ? item.width / 2 : 0);
      const start = anchor === "end" ? left - item.width : left;
      const label = box(start, item.y + dy - item.height * 0.78, item.width, item.height);
      const inside =
        label.left >= 2 && label.right <= width - 2 && label.top >= 2 && label.bottom <= height - 2;
      if (!inside || taken.some((other) => overlap(label, other))) continue;
      // A point at the same place carries the same label and is no hindrance.
      const covers = points.some(
        (point, which) => which !== own && overlap(label, point) && !near(items[which], item),
      );
      if (covers) continue;
      taken.push(label);
      return [dx, dy, anchor];
    }
    return null;
  });
}

function places({ height, gap }) {
  const middle = height * 0.28;
  return [
    [gap, middle, "start"],
    [-gap, middle, "end"],
    [0, -gap, "middle"],
    [0, gap + height * 0.7, "middle"],
    [gap - 2, -gap + 3, "start"],
    [gap - 2, gap + height * 0.5, "start"],
    [-gap + 2, -gap + 3, "end"],
    [-gap + 2, gap + height * 0.5, "end"],
  ];
}

function box(left, top, width, height) {
  return { left, top, right: left + width, bottom: top + height };
}

function overlap(one, other) {
  return (
    one.left < other.right &&
    other.left < one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
}

function near(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y) < 1;
}
