// What the server's task models say of the sentences.

import { element } from "./element.js";
import { percent } from "./numbers.js";
import { ask } from "./server.js";
import { joined, withSpans } from "./spacing.js";
import { say } from "./strings.js";

const isQuestion = (sentence) => /[?？]$/.test(sentence);

// For each task what it is asked about the sentences, how an answer is drawn (or null, where there
// is nothing to draw), and what is said where no answer is.
const TASKS = {
  ner: {
    inputs: (sentences) => sentences,
    draw: ({ tokens, entities }) => (entities.length > 0 ? withSpans(tokens, entities, tag) : null),
    nothing: "no names",
  },
  sst: {
    inputs: (sentences) => sentences,
    draw: ({ tokens, ...choice }) => [joined(tokens), " ", classTag(choice)],
  },
  snli: {
    inputs: ([premise, ...others]) => others.map((hypothesis) => ({ premise, hypothesis })),
    draw: ({ hypothesis, ...choice }) => [joined(hypothesis), " ", classTag(choice)],
    nothing: "second sentence",
  },
  squad: {
    inputs: (sentences) => {
      const context = sentences.filter((sentence) => !isQuestion(sentence)).join(" ");
      const questions = context === "" ? [] : sentences.filter(isQuestion);
      return questions.map((question) => ({ context, question }));
    },
    draw: ({ question, text, score }) => [question, " ", tag(text, percent(score))],
    nothing: "ask a question",
  },
  srl: {
    inputs: (sentences) => sentences,
    draw: (frames) =>
      frames.map(({ tokens, spans }) => element("p", {}, ...withSpans(tokens, spans, tag))),
    nothing: "no predicates",
  },
  coref: {
    inputs: (sentences) => [sentences],
    draw: ({ clusters }) =>
      clusters.map((mentions) => element("p", {}, mentions.map(({ text }) => text).join(" = "))),
    nothing: "no mentions",
  },
};

const OTHER = { inputs: (sentences) => sentences, draw: (answer) => [JSON.stringify(answer)] };

export async function fetchTask(name, sentences, signal) {
  const input = (TASKS[name] ?? OTHER).inputs(sentences);
  if (input.length === 0) return [];
  const { data } = await ask(`v1/tasks/${encodeURIComponent(name)}`, { input }, { signal });
  return data;
}

export function taskCard(name, answers) {
  const { draw, nothing } = TASKS[name] ?? OTHER;
  const title = name in TASKS ? say(`task ${name}`) : say("task other", { name });
  const drawn = answers.map(draw).filter((nodes) => nodes !== null && nodes.length > 0);
  const lines = drawn.map((nodes) => element("li", {}, element("div", {}, ...nodes)));
  return element(
    "section",
    { class: "card", "data-task": name },
    element("h2", {}, title),
    lines.length > 0 || !nothing
      ? element("ul", { class: "lines plain" }, ...lines)
      : element("p", { class: "hint" }, say(nothing)),
  );
}

function tag(text, label) {
  return element("mark", {}, text, element("sub", {}, label));
}

function classTag({ label, probabilities }) {
  return tag(`${label}`, percent(probabilities[label]));
}
