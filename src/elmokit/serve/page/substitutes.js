// The words that could stand in the place of the chosen one, judged from both sides.

import { element } from "./element.js";
import { percent } from "./numbers.js";
import { ask } from "./server.js";
import { say } from "./strings.js";

export const COUNT = 8;
const MOST_KEPT = 500;
const kept = new Map();

// `exact` puts each word into the sentence and weighs the whole; that takes many times longer. The
// answer is always the same, so people who come back to a word have it at once.
export async function fetchSubstitutes(model, tokens, position, exact, signal) {
  const body = { model, input: tokens, position, count: COUNT, rescore: exact };
  const name = JSON.stringify(body);
  if (!kept.has(name)) {
    const { data } = await ask("v1/substitutes", body, { signal });
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(name, data);
  }
  return kept.get(name);
}

export function substituteList(found) {
  const most = Math.max(...found.map(({ probability }) => probability));
  const lines = found.map(({ word, probability }) => {
    const amount = element("i", {});
    amount.style.setProperty("--share", most > 0 ? probability / most : 0);
    return element(
      "li",
      { "data-word": word, "data-probability": probability },
      element("span", {}, word),
      element("span", { class: "amount", "aria-hidden": "true" }, amount),
      element("span", { class: "number" }, percent(probability)),
    );
  });
  return element("ol", { class: "substitutes", "aria-label": say("substitutes") }, ...lines);
}
