// The sign of a sentence: a shape and a colour, the same wherever its words are shown. With seven
// colours and six shapes the same sign comes again only after 42 sentences.

import { drawn } from "./element.js";

const COLOURS = 7;

const SHAPES = [
  "M5 0A5 5 0 1 1-5 0 5 5 0 1 1 5 0Z", // circle
  "M-4.4-4.4H4.4V4.4H-4.4Z", // square
  "M0-5.8 5.4 4.2H-5.4Z", // triangle
  "M0-6.2 5.2 0 0 6.2-5.2 0Z", // diamond
  "M-1.9-5.5H1.9V-1.9H5.5V1.9H1.9V5.5H-1.9V1.9H-5.5V-1.9H-1.9Z", // cross
  "M0 5.8-5.4-4.2H5.4Z", // triangle upside down
];

export function colourOf(sentence) {
  return `sentence-${sentence % COLOURS}`;
}

export function shapeOf(sentence) {
  return SHAPES[sentence % SHAPES.length];
}

export function marker(sentence) {
  return drawn(
    "svg",
    { viewBox: "-8 -8 16 16", class: colourOf(sentence), "aria-hidden": "true" },
    drawn("path", { d: shapeOf(sentence), fill: "currentColor" }),
  );
}
