// What follows from vectors that are here already: for the word's panel and for the screen reader.

import { decimals } from "./numbers.js";
import { say } from "./strings.js";
import { cosine, mixed, onlyLayer } from "./vectors.js";

// Other occurrences of the word, in any case, each with its similarities layer by layer.
export function elsewhere(reading, depth, { sentence, token, text }) {
  const found = words(reading).filter(
    (one) =>
      one.text.toLowerCase() === text.toLowerCase() && !isAt(one, sentence, token),
  );
  if (found.length === 0) return [];
  const wanted = new Set([sentence, ...found.map((one) => one.sentence)]);
  const byLayer = [...Array(depth).keys()].map((layer) =>
    reading.map((one, place) => (wanted.has(place) ? mixed(one, onlyLayer(layer, depth)) : null)),
  );
  return found.map((one) => ({
    ...one,
    cosines: byLayer.map((rows) => cosine(rows[sentence][token], rows[one.sentence][one.token])),
  }));
}

// What is said aloud when a word is chosen.
export function told(reading, cosines, chosen) {
  if (chosen === null) return say("let go");
  const { sentence, token, text } = chosen;
  const closest = words(reading)
    .filter((one) => !isAt(one, sentence, token))
    .map((one) => ({ ...one, cosine: cosines[one.sentence][one.token] }))
    .sort((one, two) => two.cosine - one.cosine)
    .slice(0, 3)
    .map((one) =>
      say("closest one", {
        word: one.text,
        number: one.sentence + 1,
        similarity: decimals(one.cosine),
      }),
    );
  return say("chosen now", { word: text, number: sentence + 1, closest: closest.join("; ") });
}

function words(reading) {
  return reading.flatMap(({ tokens }, sentence) =>
    tokens.map(({ text }, token) => ({ text, sentence, token })),
  );
}

function isAt(word, sentence, token) {
  return word.sentence === sentence && word.token === token;
}
