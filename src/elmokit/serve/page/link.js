// The view as a link, and back.

import { view } from "./view.js";

const PAUSE = 150;
let timer = null;

// The part of a link after `#`.
export function fragmentOf(seen) {
  const parts = new URLSearchParams();
  parts.set("text", seen.text);
  if (seen.word !== null) parts.set("word", `${seen.word.sentence}.${seen.word.token}`);
  if (seen.mix !== null) parts.set("mix", seen.mix.join(","));
  else if (seen.layer !== null) parts.set("layer", seen.layer);
  if (seen.model !== null) parts.set("model", seen.model);
  if (seen.language !== null) parts.set("lang", seen.language);
  return parts.toString();
}

// Gives what a link says, or null where it says nothing. Links are typed and cut by people, so
// what makes no sense is passed over; what does not fit the text is found when it has been read.
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!parts.has("text")) return null;
  const word = /^(\d+)\.(\d+)$/.exec(parts.get("word") ?? "");
  const layer = /^\d+$/.exec(parts.get("layer") ?? "");
  const mix = (parts.get("mix") ?? "").split(",").map(Number);
  const mixes = parts.has("mix") && mix.every((amount) => amount >= 0 && amount <= 100);
  return {
    text: parts.get("text"),
    model: parts.get("model"),
    word: word && { sentence: Number(word[1]), token: Number(word[2]) },
    layer: layer && Number(layer[0]),
    mix: mixes ? mix : null,
    language: ["en", "ko"].includes(parts.get("lang")) ? parts.get("lang") : null,
  };
}

// The address always leads back to this view; browsers allow only so many changes a second.
export function keepLink() {
  clearTimeout(timer);
  timer = setTimeout(writeLink, PAUSE);
}

export function writeLink() {
  clearTimeout(timer);
  const fragment = `#${fragmentOf(view)}`;
  if (location.hash !== fragment) history.replaceState(null, "", fragment);
}

// Calls `open` with the view of a link that people put into the address of the open page.
export function onLink(open) {
  addEventListener("hashchange", () => {
    const found = fromFragment(location.hash);
    if (found !== null && fragmentOf(found) !== fragmentOf(view)) open(found);
  });
}
