// What the page says, in the language that was chosen.

import { english } from "./english.js";
import { korean } from "./korean.js";

const STRINGS = { en: english, ko: korean };
let spoken = "en";

export function browserLanguage() {
  const wanted = navigator.languages.map((language) => language.slice(0, 2).toLowerCase());
  return wanted.find((language) => language in STRINGS) ?? "en";
}

export function speak(language) {
  spoken = language;
  document.documentElement.lang = language;
  document.title = `${say("title")} · elmokit`;
  sayAll(document);
}

export function say(name, values = {}) {
  return STRINGS[spoken][name].replace(/\{(\w+)\}/g, (_, value) => values[value]);
}

// Fills what stands in the markup: `data-say` is an element's text, the others its attributes.
function sayAll(root) {
  for (const one of root.querySelectorAll("[data-say]")) one.textContent = say(one.dataset.say);
  for (const [data, attribute] of [
    ["sayLabel", "aria-label"],
    ["sayPlaceholder", "placeholder"],
    ["sayTitle", "title"],
  ]) {
    const name = data.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    for (const one of root.querySelectorAll(`[data-${name}]`)) {
      one.setAttribute(attribute, say(one.dataset[data]));
    }
  }
}
