// Every word of the sentences as a chip.

import { element } from "./element.js";
import { marker } from "./markers.js";
import { decimals } from "./numbers.js";
import { say } from "./strings.js";

// Where a bar is as long as it gets: one in a million.
const MOST_SURPRISE = 14;

export class Chips {
  #root;
  #onChoose;
  #rows = []; // one list of chips for each sentence
  #reading = null;
  #surprises = null;
  #cosines = null;
  #chosen = null;

  constructor(root, { onChoose }) {
    this.#root = root;
    this.#onChoose = onChoose;
    root.addEventListener("keydown", (event) => this.#moved(event));
  }

  // New sentences; `reading` is a list of {tokens}.
  draw(reading) {
    const focused = this.#place(document.activeElement);
    this.#reading = reading;
    this.#surprises = null;
    this.#cosines = null;
    this.#chosen = null;
    this.#rows = reading.map(({ tokens }, sentence) =>
      tokens.map(({ text }, token) => this.#chip(text, sentence, token)),
    );
    this.#root.replaceChildren(
      ...this.#rows.map((chips, sentence) => this.#line(chips, sentence)),
    );
    if (reading.length === 0) {
      this.#root.append(element("p", { class: "empty" }, say("nothing written")));
    }
    const entry = this.#at(focused) ?? this.#rows.flat()[0];
    if (entry) entry.tabIndex = 0;
    if (focused && entry) entry.focus();
    this.#name();
  }

  // Similarities to the chosen word, one list for each sentence, or null for none.
  compare(chosen, cosines) {
    this.#chosen = chosen;
    this.#cosines = cosines;
    const entry = this.#at(chosen);
    this.#rows.forEach((chips, sentence) =>
      chips.forEach((chip, token) => {
        const cosine = cosines?.[sentence][token];
        const number = chip.lastElementChild;
        if (cosine === undefined) {
          delete chip.dataset.level;
          delete chip.dataset.cosine;
          number.textContent = "";
        } else {
          chip.dataset.level = levelOf(cosine);
          chip.dataset.cosine = cosine.toFixed(6);
          number.textContent = decimals(cosine);
        }
        chip.setAttribute("aria-pressed", String(chip === entry));
        if (entry) chip.tabIndex = chip === entry ? 0 : -1;
      }),
    );
    this.#name();
  }

  // Surprise of every word, or null where the model cannot tell.
  surprise(surprises) {
    this.#surprises = surprises;
    this.#rows.forEach((chips, sentence) =>
      chips.forEach((chip, token) => {
        const found = surprises?.[sentence][token];
        const [forward, backward] = chip.nextElementSibling.children;
        chip.classList.toggle("unknown", found?.known === false);
        for (const [bar, value] of [
          [forward, found?.forward],
          [backward, found?.backward],
        ]) {
          bar.style.setProperty("--share", Math.min((value ?? 0) / MOST_SURPRISE, 1));
          if (value === undefined) delete bar.dataset.surprise;
          else bar.dataset.surprise = value.toFixed(6);
        }
      }),
    );
    this.#name();
  }

  // Says everything again, in another language.
  rename() {
    this.#rows.forEach((chips, sentence) => {
      const line = chips[0]?.closest(".sentence");
      line?.setAttribute("aria-label", say("sentence", { number: sentence + 1 }));
    });
    const empty = this.#root.querySelector(".empty");
    if (empty) empty.textContent = say("nothing written");
    this.#name();
  }

  #line(chips, sentence) {
    const number = sentence + 1;
    return element(
      "div",
      { class: "sentence", role: "group", "aria-label": say("sentence", { number }) },
      element("span", { class: "marker", "aria-hidden": "true" }, marker(sentence), `${number}`),
      element(
        "div",
        { class: "chips" },
        ...chips.map((chip) => element("div", { class: "chip-place" }, chip, bars())),
      ),
    );
  }

  #chip(text, sentence, token) {
    return element(
      "button",
      {
        type: "button",
        class: "chip",
        tabindex: "-1",
        "aria-pressed": "false",
        "data-sentence": sentence,
        "data-token": token,
        click: () => this.#onChoose({ sentence, token }),
      },
      element("span", {}, text),
      element("small", {}),
    );
  }

  // What a screen reader says of each chip; the mouse gets the surprise as a note.
  #name() {
    this.#rows.forEach((chips, sentence) =>
      chips.forEach((chip, token) => {
        const word = this.#reading[sentence].tokens[token].text;
        const cosine = this.#cosines?.[sentence][token];
        const parts = [];
        if (cosine === undefined) parts.push(word);
        else if (chip === this.#at(this.#chosen)) parts.push(say("chip chosen", { word }));
        else parts.push(say("chip compared", { word, similarity: decimals(cosine) }));
        const found = this.#surprises?.[sentence][token];
        if (found) {
          const sides = {
            forward: decimals(found.forward, 1),
            backward: decimals(found.backward, 1),
          };
          parts.push(say("chip surprise", sides));
          if (!found.known) parts.push(say("chip unknown"));
        }
        chip.setAttribute("aria-label", parts.join(", "));
        chip.parentElement.title = parts.slice(1).join(", ");
      }),
    );
  }

  #moved(event) {
    const place = this.#place(event.target);
    if (place === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.#rows[place.sentence];
    const flat = this.#rows.flat();
    const here = flat.indexOf(event.target);
    const aims = {
      ArrowRight: () => flat[here + 1],
      ArrowLeft: () => flat[here - 1],
      ArrowDown: () => this.#beside(event.target, place.sentence + 1),
      ArrowUp: () => this.#beside(event.target, place.sentence - 1),
      Home: () => row[0],
      End: () => row.at(-1),
    };
    if (!(event.key in aims)) return;
    event.preventDefault();
    const aim = aims[event.key]();
    if (!aim) return;
    for (const chip of flat) chip.tabIndex = chip === aim ? 0 : -1;
    aim.focus();
  }

  // The chip of another sentence that stands nearest above or below.
  #beside(chip, sentence) {
    const middle = (one) => one.getBoundingClientRect().left + one.offsetWidth / 2;
    const far = (one) => Math.abs(middle(one) - middle(chip));
    return [...(this.#rows[sentence] ?? [])].sort((one, two) => far(one) - far(two))[0];
  }

  #place(chip) {
    if (!chip?.classList.contains("chip") || !this.#root.contains(chip)) return null;
    return { sentence: Number(chip.dataset.sentence), token: Number(chip.dataset.token) };
  }

  #at(place) {
    return place ? this.#rows[place.sentence]?.[place.token] : undefined;
  }
}

// A cosine in tenths, for its colour.
export function levelOf(cosine) {
  return Math.round(10 * Math.min(Math.max(cosine, 0), 1));
}

function bars() {
  return element(
    "div",
    { class: "surprise", "aria-hidden": "true" },
    element("i", { class: "forward" }),
    element("i", { class: "backward" }),
  );
}
