// Sentences of the server's index that use a word as the chosen one is used.

import { element } from "./element.js";
import { decimals } from "./numbers.js";
import { ask } from "./server.js";
import { withSpans } from "./spacing.js";
import { say } from "./strings.js";

const COUNT = 6;

export async function fetchNeighbours({ text, tokens }, position, signal) {
  if (text.includes("*")) return []; // asterisks mark the word, and there can be no others
  const { start, end } = tokens[position];
  // Places count characters, of which JavaScript's strings may take two for one.
  const characters = [...text];
  const marked = [
    ...characters.slice(0, start),
    "*",
    ...characters.slice(start, end),
    "*",
    ...characters.slice(end),
  ].join("");
  const { data } = await ask("v1/neighbours", { input: marked, count: COUNT }, { signal });
  return data;
}

// `found` is null until it has come.
export function drawNeighbours(root, found, isChosen) {
  root.replaceChildren(
    element("h2", {}, say("neighbours")),
    element("p", { class: "hint" }, say(isChosen ? "neighbours hint" : "no neighbours")),
  );
  if (!isChosen) return;
  if (found === null) {
    root.append(element("p", { class: "hint", "aria-busy": "true" }, say("waiting")));
    return;
  }
  const lines = found.map(({ similarity, sentence, position }) => {
    const bold = (text) => element("b", {}, text);
    const words = withSpans(sentence, [{ first: position, last: position }], bold);
    return element(
      "li",
      { "data-similarity": similarity },
      element("span", { class: "number" }, decimals(similarity)),
      element("span", {}, ...words),
    );
  });
  root.append(element("ol", { class: "lines" }, ...lines));
}
