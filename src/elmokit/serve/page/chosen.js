// A word is chosen: the others are compared with it, and the server is asked about it.

import { announce, byId } from "./element.js";
import { elsewhere, told } from "./facts.js";
import { keepLink } from "./link.js";
import { drawNeighbours, fetchNeighbours } from "./neighbours.js";
import { failed } from "./problems.js";
import { Latest } from "./server.js";
import { fetchSubstitutes } from "./substitutes.js";
import { cosine, mixed } from "./vectors.js";
import { model, server, shown, view } from "./view.js";
import { drawWord } from "./word.js";

const requests = { substitutes: new Latest(), neighbours: new Latest() };

// The parts that show words; main.js makes them.
export const parts = { chips: null, map: null, layers: null };

export function choose(place) {
  const text = place && shown.reading[place.sentence].tokens[place.token].text;
  shown.word = place && { ...place, text };
  view.word = shown.word;
  compareWithChosen();
  askAbout();
  keepLink();
  announce(told(shown.reading, shown.cosines, shown.word));
}

// Places and similarities in the layers that are looked at.
export function compare() {
  shown.rows = shown.reading.map((sentence) => mixed(sentence, parts.layers.weights));
  parts.map.draw(shown.reading, shown.rows);
  compareWithChosen();
}

function compareWithChosen() {
  shown.cosines = null;
  if (shown.word !== null) {
    const chosen = shown.rows[shown.word.sentence][shown.word.token];
    shown.cosines = shown.rows.map((rows) => rows.map((row) => cosine(row, chosen)));
  }
  parts.chips.compare(shown.word, shown.cosines);
  parts.map.choose(shown.word);
}

// What only the server knows of the word. `exact` weighs substitutes in whole sentences.
export async function askAbout({ exact = false } = {}) {
  const { word } = shown;
  requests.substitutes.stop();
  shown.substitutes = null;
  shown.exact = exact;
  if (!exact) {
    requests.neighbours.stop();
    shown.neighbours = null;
  }
  drawChosen();
  if (word === null) return;
  const sentence = shown.reading[word.sentence];
  const answers = [];
  if (model().language_model) {
    const tokens = sentence.tokens.map(({ text }) => text);
    const found = requests.substitutes.run((signal) =>
      fetchSubstitutes(model().id, tokens, word.token, exact, signal),
    );
    answers.push(keep(found, "substitutes"));
  }
  if (server.capabilities.neighbours && !exact) {
    const found = requests.neighbours.run((signal) =>
      fetchNeighbours(sentence, word.token, signal),
    );
    answers.push(keep(found, "neighbours"));
  }
  try {
    await Promise.all(answers);
  } catch (problem) {
    shown.substitutes ??= [];
    shown.neighbours ??= [];
    drawChosen();
    failed(problem, () => askAbout({ exact }));
  }
}

async function keep(answer, name) {
  const found = await answer;
  if (found === undefined) return;
  shown[name] = found;
  drawChosen();
}

export function drawChosen() {
  const { word, substitutes, exact, surprises, reading } = shown;
  const about = word && {
    ...word,
    substitutes,
    exact,
    surprise: surprises?.[word.sentence][word.token],
    canGuess: model().language_model,
    elsewhere: elsewhere(reading, model().layers, word),
  };
  drawWord(byId("word"), about, {
    onRelease: () => choose(null),
    onExact: () => askAbout({ exact: true }),
  });
  if (server.capabilities.neighbours) {
    drawNeighbours(byId("neighbours"), shown.neighbours, word !== null);
  }
}
