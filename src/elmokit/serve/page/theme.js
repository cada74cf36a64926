// Light or dark: as the system has it, until people choose.

import { byId } from "./element.js";
import { say } from "./strings.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const NAME = "elmokit theme";

let chosen = remembered();

export function startTheme() {
  byId("theme").addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(NAME, chosen);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

// The button names what it leads to.
export function nameTheme() {
  byId("theme").textContent = say(isDark() ? "light" : "dark");
}

function isDark() {
  return chosen === null ? system.matches : chosen === "dark";
}

// The sheet of dark colours is there or not; no rule has to be written twice.
function apply() {
  byId("dark").media = isDark() ? "all" : "not all";
  nameTheme();
}

function remembered() {
  try {
    const found = localStorage.getItem(NAME);
    return ["light", "dark"].includes(found) ? found : null;
  } catch {
    return null;
  }
}
