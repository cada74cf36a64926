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

// Says that what is shown is not the text's any more, or is.
export function busy(isBusy) {
  byId("words").closest("section").setAttribute("aria-busy", String(isBusy));
}

export async function read() {
  if (server.capabilities === null) return;
  const sentences = sentencesOf(view.text);
  const { id, language_model: canGuess } = model();
  busy(true);
  try {
    const { limits } = server.capabilities;
    if (sentences.length > limits.inputs) throw new TooManySentences(sentences.length);
    // The server computes one thing at a time: what is seen first is asked for first.
    requests.surprises.stop();
    const reading = await requests.vectors.run((signal) => reader.vectors(id, sentences, signal));
    if (reading === undefined) return;
    const surprises = canGuess
      ? requests.surprises.run((signal) => reader.surprises(id, sentences, signal))
      : null;
    surprises?.catch(() => {}); // told below, where it is awaited
    hideProblem();
    show(reading);
    busy(false);
    byId("tasks").setAttribute("aria-busy", "true");
    const found = await surprises;
    if (found === undefined || shown.reading !== reading) return;
    shown.surprises = found;
    parts.chips.surprise(shown.surprises);
    drawChosen();
    await readTasks(sentences);
  } catch (problem) {
    busy(false);
    byId("tasks").setAttribute("aria-busy", "false");
    failed(problem, read);
  }
}

function show(reading) {
  shown.reading = reading;
  shown.surprises = null;
  shown.word = keptWord(view.word, reading);
  view.word = shown.word;
  parts.chips.draw(reading);
  const words = reading.reduce((sum, { tokens }) => sum + tokens.length, 0);
  announce(say("read now", { words, sentences: reading.length }));
  compare();
  askAbout();
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
  byId("tasks").setAttribute("aria-busy", "false");
  drawTasks();
}

export function drawTasks() {
  byId("tasks").replaceChildren(...shown.tasks.map(([name, answers]) => taskCard(name, answers)));
}
