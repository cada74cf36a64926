// Starts the page, and ties what people do to what is drawn.

import { Chips } from "./chips.js";
import { choose, compare, drawChosen, parts } from "./chosen.js";
import { askForKey, copied, showText } from "./dialogs.js";
import { announce, byId, element } from "./element.js";
import { EXAMPLES } from "./examples.js";
import { LayerChoice } from "./layers.js";
import { fromFragment, keepLink, onLink, writeLink } from "./link.js";
import { WordMap } from "./map.js";
import { failed, hideWaiting, sayProblem, showWaiting } from "./problems.js";
import { pythonFor } from "./python.js";
import { ask, people } from "./server.js";
import { browserLanguage, say, speak } from "./strings.js";
import { busy, drawTasks, read } from "./text.js";
import { nameTheme, startTheme } from "./theme.js";
import { defaultModel, model, server, shown, view } from "./view.js";

const TYPING_PAUSE = 300;
const FLASH = 1500;

parts.chips = new Chips(byId("words"), { onChoose: choose });
parts.map = new WordMap(byId("map"), byId("map-note"), { onChoose: choose });
parts.layers = new LayerChoice({
  onChange: (chosen) => {
    Object.assign(view, chosen);
    keepLink();
    compare();
  },
});

async function start() {
  try {
    const [models, capabilities] = await Promise.all([ask("v1/models"), ask("v1/capabilities")]);
    Object.assign(server, { models: models.data, capabilities });
  } catch (problem) {
    failed(problem, start);
    return;
  }
  if (!server.models.some(({ id }) => id === view.model)) view.model = null;
  byId("models").hidden = server.models.length < 2;
  byId("model").replaceChildren(
    ...server.models.map(({ id }) => element("option", { value: id }, id)),
  );
  byId("neighbours").hidden = !server.capabilities.neighbours;
  speakNow();
  open({});
}

// Shows another view, of which `changes` are said.
function open(changes) {
  Object.assign(view, changes);
  byId("text").value = view.text;
  fitText();
  if (server.capabilities === null) return;
  byId("model").value = model().id;
  byId("surprise-legend").hidden = !model().language_model;
  parts.layers.show(model().layers, view);
  Object.assign(view, parts.layers.chosen);
  keepLink();
  read();
}

function fitText() {
  byId("text").rows = Math.min(Math.max(view.text.split("\n").length, 3), 8);
}

function speakNow() {
  const language = view.language ?? browserLanguage();
  speak(language);
  byId("english").setAttribute("aria-pressed", String(language === "en"));
  byId("korean").setAttribute("aria-pressed", String(language === "ko"));
  nameTheme();
  sayProblem();
  parts.chips.rename();
  parts.map.describe();
  if (server.capabilities === null) return;
  byId("version").textContent = say("footer", { version: server.capabilities.version });
  parts.layers.draw();
  drawChosen();
  drawTasks();
}

function chooseLanguage(language) {
  view.language = language;
  speakNow();
  keepLink();
}

let typing = null;
byId("text").addEventListener("input", (event) => {
  view.text = event.target.value;
  fitText();
  keepLink();
  busy(true);
  clearTimeout(typing);
  typing = setTimeout(read, TYPING_PAUSE);
});

for (const button of document.querySelectorAll("[data-example]")) {
  button.addEventListener("click", () => open({ ...EXAMPLES[button.dataset.example], mix: null }));
}

byId("model").addEventListener("change", ({ target }) => {
  const id = target.value === defaultModel().id ? null : target.value;
  open({ model: id, layer: null, mix: null });
});

byId("english").addEventListener("click", () => chooseLanguage("en"));
byId("korean").addEventListener("click", () => chooseLanguage("ko"));

byId("copy-link").addEventListener("click", async ({ target }) => {
  writeLink();
  if (await copied(location.href)) {
    announce(say("link copied"));
    target.textContent = say("copied");
    setTimeout(() => (target.textContent = say(target.dataset.say)), FLASH);
  } else {
    showText(say("link"), say("link by hand"), location.href);
  }
});

byId("copy-python").addEventListener("click", () => {
  if (server.capabilities === null) return;
  const { layer, mix } = parts.layers.chosen;
  const text = pythonFor({
    model: model().id,
    sentences: shown.reading.map((sentence) => sentence.text),
    chosen: shown.word,
    layer,
    mix: mix && parts.layers.weights,
    canGuess: model().language_model,
    exact: shown.exact,
  });
  showText(say("python title"), say("python hint"), text);
});

document.addEventListener("keydown", ({ key }) => {
  const inDialog = document.querySelector("dialog[open]") !== null;
  if (key === "Escape" && !inDialog && shown.word !== null) choose(null);
});

onLink((found) => {
  Object.assign(view, found);
  speakNow();
  open({});
});

people.giveKey = askForKey;
people.wait = showWaiting;
people.resume = hideWaiting;
Object.assign(view, fromFragment(location.hash) ?? EXAMPLES.bank);
startTheme();
speakNow();
open({});
start();
