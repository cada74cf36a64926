// What is known of the chosen word.

import { levelOf } from "./chips.js";
import { element } from "./element.js";
import { marker } from "./markers.js";
import { decimals, tries } from "./numbers.js";
import { say } from "./strings.js";
import { substituteList } from "./substitutes.js";

// `word` is null, or {text, sentence, surprise, elsewhere, substitutes, exact, canGuess}:
// `elsewhere` lists {text, sentence, cosines by layer}; `substitutes` is null while it is awaited.
export function drawWord(root, word, { onRelease, onExact }) {
  const focused = root.contains(document.activeElement) ? document.activeElement.id : null;
  fill(root, word, { onRelease, onExact });
  // What had the focus was made anew, or is gone.
  if (focused !== null) (root.querySelector(`#${focused}`) ?? root.querySelector("h2")).focus();
}

function fill(root, word, { onRelease, onExact }) {
  if (word === null) {
    root.replaceChildren(
      element("h2", { id: "word-name", tabindex: "-1" }, say("no word")),
      element("p", { class: "hint" }, say("no word hint")),
    );
    return;
  }
  const release = element(
    "button",
    {
      type: "button",
      id: "release",
      class: "quiet",
      "aria-label": say("release"),
      title: say("release"),
      click: onRelease,
    },
    "×",
  );
  const where = say("in sentence", { number: word.sentence + 1 });
  root.replaceChildren(
    element(
      "div",
      { class: "word-name" },
      element("h2", { id: "word-name", tabindex: "-1" }, word.text),
      element("span", { class: "hint named" }, marker(word.sentence), where),
      release,
    ),
  );
  if (word.elsewhere.length > 0) root.append(sameWord(word));
  if (word.canGuess) {
    root.append(substitutesPart(word, onExact));
    if (word.surprise) root.append(surprisePart(word.surprise));
  } else {
    root.append(element("p", { class: "hint" }, say("no substitutes")));
  }
}

function sameWord({ elsewhere }) {
  const depth = elsewhere[0].cosines.length;
  const layers = [...Array(depth).keys()].map((layer) =>
    element("th", { scope: "col" }, say("layer", { layer })),
  );
  const rows = elsewhere.map(({ text, sentence, cosines }) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row", class: "row" },
        element(
          "span",
          { class: "named", "aria-label": `${text}, ${say("sentence", { number: sentence + 1 })}` },
          marker(sentence),
          `${sentence + 1} ${text}`,
        ),
      ),
      ...cosines.map((cosine) =>
        element("td", { "data-level": levelOf(cosine) }, decimals(cosine)),
      ),
    ),
  );
  return part(
    say("same word"),
    say("same word hint"),
    element(
      "table",
      { id: "elsewhere" },
      element("thead", {}, element("tr", {}, element("td", {}), ...layers)),
      element("tbody", {}, ...rows),
    ),
  );
}

function substitutesPart({ substitutes, exact }, onExact) {
  const made = part(
    say("substitutes"),
    say(exact ? "weighed" : "substitutes hint"),
    substitutes === null
      ? element("p", { class: "hint", "aria-busy": "true" }, say("waiting"))
      : substituteList(substitutes),
  );
  if (!exact && substitutes?.length > 0) {
    made.append(
      element(
        "button",
        { type: "button", id: "exact", class: "quiet", click: onExact },
        `${say("more exactly")} (${say("more exactly hint")})`,
      ),
    );
  }
  return made;
}

function surprisePart({ forward, backward, known }) {
  const side = (place, name, value) =>
    element(
      "div",
      { class: place },
      element("dt", {}, say(name)),
      element("dd", {}, say("one in", { tries: tries(value) })),
      element("dd", { class: "hint" }, `−log p = ${decimals(value)}`),
    );
  const sides = element(
    "dl",
    { class: "sides" },
    side("left", "from left", forward),
    side("right", "from right", backward),
  );
  const made = part(say("surprise"), null, sides);
  if (!known) made.append(element("p", { class: "hint" }, say("unknown word")));
  return made;
}

function part(title, hint, ...content) {
  const heading = element("h3", {}, title);
  if (hint) heading.append(" ", element("span", { class: "hint" }, hint));
  return element("div", { class: "part" }, heading, ...content);
}
