// All words on a plane. A word keeps the shape and the colour of its sentence.

import { drawn } from "./element.js";
import { GAP, placeLabels } from "./labels.js";
import { colourOf, shapeOf } from "./markers.js";
import { principal } from "./principal.js";
import { say } from "./strings.js";

const MOST_POINTS = 400;
const MARGIN = 44;
const RING = 10;
const HAS_LETTER = /[\p{L}\p{N}]/u;

export class WordMap {
  #svg;
  #note;
  #onChoose;
  #points = []; // {word, sentence, token, place: [x, y], node}
  #chosen = null;
  #left = 0;
  #width = 0;
  #measured = null;

  constructor(svg, note, { onChoose }) {
    this.#svg = svg;
    this.#note = note;
    this.#onChoose = onChoose;
    // Sizes are kept: to ask for them at a click would make the browser lay the page out twice.
    new ResizeObserver(() => {
      this.#width = Math.round(svg.clientWidth);
      this.#measured = ruler();
      this.#arrange();
    }).observe(svg.parentElement);
  }

  // `reading` is a list of {tokens}, `rows` the unit vectors of their words, sentence by sentence.
  // Punctuation is left out. Nothing moves before `choose` is called.
  draw(reading, rows) {
    const words = reading.flatMap(({ tokens }, sentence) =>
      tokens
        .map(({ text }, token) => ({ word: text, sentence, token, row: rows[sentence][token] }))
        .filter(({ word }) => HAS_LETTER.test(word)),
    );
    const shown = words.slice(0, MOST_POINTS);
    this.#left = words.length - shown.length;
    const places = principal(shown.map(({ row }) => row));
    // Points of the same words are kept, so that they can be seen to move from layer to layer.
    const before = new Map(this.#points.map((point) => [nameOf(point), point.node]));
    this.#points = shown.map(({ word, sentence, token }, which) => {
      const point = { word, sentence, token, place: places[which] };
      point.node = before.get(nameOf(point)) ?? this.#node(point);
      return point;
    });
    this.#svg.replaceChildren(...this.#points.map(({ node }) => node));
    this.describe();
  }

  choose(chosen) {
    this.#chosen = chosen;
    this.#arrange();
  }

  // Says everything again, in another language.
  describe() {
    this.#svg.setAttribute("aria-label", say("map described", { count: this.#points.length }));
    this.#note.hidden = this.#left === 0 && this.#points.length > 1;
    this.#note.textContent =
      this.#left > 0 ? say("map full", { count: MOST_POINTS }) : say("map alone");
  }

  #node(point) {
    const { sentence, token, word } = point;
    return drawn(
      "g",
      {
        class: `point ${colourOf(sentence)}`,
        "data-sentence": sentence,
        "data-token": token,
        click: () => this.#onChoose({ sentence, token }),
      },
      drawn("circle", { class: "ring", r: RING }),
      drawn("path", { d: shapeOf(sentence) }),
      drawn("text", {}, word),
      drawn("title", {}, `${sentence + 1}: ${word}`),
    );
  }

  #arrange() {
    const width = this.#width;
    if (width === 0) return;
    const height = Math.round(Math.min(Math.max(width * 0.95, 300), 700));
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#svg.setAttribute("height", height);
    const placed = spread(this.#points, width, height);
    const alike = this.#wordOf(this.#chosen);
    const items = this.#points.map((point, which) => {
      const isChosen = nameOf(point) === nameOf({ ...this.#chosen, word: alike });
      const isAlike = alike !== null && point.word.toLowerCase() === alike.toLowerCase();
      point.node.classList.toggle("chosen", isChosen);
      point.node.classList.toggle("alike", isAlike);
      point.node.style.transform = `translate(${placed[which].x}px, ${placed[which].y}px)`;
      point.node.dataset.x = point.place[0].toFixed(6);
      point.node.dataset.y = point.place[1].toFixed(6);
      const { width: wide, height: high } = this.#measured(point.word, isAlike);
      const weight = (isChosen ? 1000 : 0) + (isAlike ? 500 : 0) + point.word.length;
      const gap = isChosen ? RING + 4 : GAP;
      return { point, weight, ...placed[which], width: wide, height: high, gap };
    });
    // Long words say most and come after the chosen ones; what finds no place waits for the mouse.
    items.sort((one, two) => two.weight - one.weight);
    const labels = placeLabels(items, [width, height]);
    const written = new Set();
    items.forEach(({ point, x, y, shared }, which) => {
      const label = labels[which];
      const text = point.node.querySelector("text");
      // Points at one place with one word need one label.
      const again = shared && written.has(`${point.word} ${shared}`);
      point.node.classList.toggle("unlabelled", label === null || again);
      if (label !== null && !again) written.add(`${point.word} ${shared}`);
      const [dx, dy, anchor] = label ?? [9, 4, x > width - 80 ? "end" : "start"];
      text.setAttribute("x", anchor === "end" && label === null ? -9 : dx);
      text.setAttribute("y", dy);
      text.setAttribute("text-anchor", anchor);
    });
  }

  #wordOf(place) {
    if (place === null) return null;
    const found = this.#points.find(
      ({ sentence, token }) => sentence === place.sentence && token === place.token,
    );
    return found?.word ?? null;
  }
}

// Both axes have the same scale, so distances are true. Points that lie on one another step aside.
function spread(points, width, height) {
  const xs = points.map(({ place }) => place[0]);
  const ys = points.map(({ place }) => place[1]);
  const range = (values) => Math.max(...values) - Math.min(...values);
  const scale = Math.min(
    (width - 2 * MARGIN) / (range(xs) || 1),
    (height - 2 * MARGIN) / (range(ys) || 1),
  );
  const middle = (values) => (Math.max(...values) + Math.min(...values)) / 2;
  const placed = points.map((_, which) => ({
    x: width / 2 + (xs[which] - middle(xs)) * scale,
    y: height / 2 - (ys[which] - middle(ys)) * scale,
    shared: null,
  }));
  const together = new Map();
  placed.forEach((one, which) => {
    const cell = `${Math.round(one.x)},${Math.round(one.y)}`;
    together.set(cell, [...(together.get(cell) ?? []), which]);
  });
  for (const [cell, members] of together) {
    if (members.length < 2) continue;
    members.forEach((which, turn) => {
      placed[which].x += 11 * (turn - (members.length - 1) / 2);
      placed[which].shared = cell;
    });
  }
  return placed;
}

function nameOf({ sentence, token, word }) {
  return `${sentence}.${token}.${word}`;
}

const canvas = document.createElement("canvas").getContext("2d");

// Gives a function that measures labels.
function ruler() {
  const { fontFamily } = getComputedStyle(document.body);
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return (word, strong) => {
    const letters = size * (strong ? 0.95 : 0.82);
    canvas.font = `${strong ? 700 : 400} ${letters}px ${fontFamily}`;
    return { width: canvas.measureText(word).width + 4, height: letters * 1.25 };
  };
}
