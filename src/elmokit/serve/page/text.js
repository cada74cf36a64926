// A text is read: its sentences go to the server, and what comes back is drawn piece by piece.

import { askAbout, compare, drawChosen, parts } from "./chosen.js";
import { announce, byId } from "./element.js";
import { keepLink } from "./link.js";
import { failed, hideProblem, TooManySentences } from "./problems.js";
import { Reader, sentencesOf } from "./reading.js";
import { Latest } from "./server.js";
import { say } from "./strings.js";
import { fetchTask, taskCard } from "./tasks.js";
import { keptWord, model, server, shown, view } from "./view.js";

const reader = new Reader();
const requests = { vectors: new Latest(), surprises: new Latest(), tasks: new Latest() };

export async function read() {
  if (server.capabilities === null) return;
  const sentences = sentencesOf(view.text);
  const { id, language_model: canGuess } = model();
  const card = byId("words").closest("section");
  card.setAttribute("aria-busy", "true");
  try {
    const { limits } = server.capabilities;
    if (sentences.length > limits.inputs) throw new TooManySentences(sentences.length);
    const vectors = requests.vectors.run((signal) => reader.vectors(id, sentences, signal));
    const surprises = canGuess
      ? requests.surprises.run((signal) => reader.surprises(id, sentences, signal))
      : null;
    surprises?.catch(() => {}); // told below, where it is awaited
    const reading = await vectors;
    if (reading === undefined) return;
    hideProblem();
    show(reading);
    card.setAttribute("aria-busy", "false");
    const found = await surprises;
    if (shown.reading !== reading) return;
    shown.surprises = found ?? null;
    parts.chips.surprise(shown.surprises);
    drawChosen();
    await readTasks(sentences);
  } catch (problem) {
    card.setAttribute("aria-busy", "false");
    failed(problem, read);
  }
}

function show(reading) {
  shown.reading = reading;
  shown.surprises = null;
  view.word = keptWord(view.word, reading);
  parts.chips.draw(reading);
  const words = reading.reduce((sum, { tokens }) => sum + tokens.length, 0);
  announce(say("read now", { words, sentences: reading.length }));
  compare();
  askAbout(view.word);
  keepLink();
}

async function readTasks(sentences) {
  const names = sentences.length > 0 ? server.capabilities.tasks : [];
  const answers = await requests.tasks.run(async (signal) => {
    const found = [];
    for (const name of names) found.push([name, await fetchTask(name, sentences, signal)]);
    return found;
  });
  if (answers === undefined) return;
  shown.tasks = answers;
  drawTasks();
}

export function drawTasks() {
  byId("tasks").replaceChildren(...shown.tasks.map(([name, answers]) => taskCard(name, answers)));
}
