// Sentences of the server's index that use a word as the chosen one is used.

import { element } from "./element.js";
import { decimals } from "./numbers.js";
import { ask } from "./server.js";
import { withSpans } from "./spacing.js";
import { say } from "./strings.js";

const COUNT = 6;

export async function fetchNeighbours(sentence, position, signal) {
  const body = { ...asked(sentence, position), count: COUNT };
  const { data } = await ask("v1/neighbours", body, { signal });
  return data;
}

// The word is marked with asterisks, so that the index's model may cut the sentence in its own way.
// There can be no others: a sentence that has some is sent as it was cut here.
function asked({ text, tokens }, position) {
  if (text.includes("*")) return { input: tokens.map((token) => token.text), position };
  const { start, end } = tokens[position];
  // Places count characters, of which JavaScript's strings may take two for one.
  const characters = [...text];
  const marked = [
    ...characters.slice(0, start),
    "*",
    ...characters.slice(start, end),
    "*",
    ...characters.slice(end),
  ];
  return { input: marked.join("") };
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
