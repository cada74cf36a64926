// Text to take away, and the question for a key.

import { byId } from "./element.js";
import { say } from "./strings.js";

// Whether the clipboard took it; browsers refuse where the page does not come by HTTPS or from
// this very machine.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Shows a text that can be copied.
export function showText(title, hint, text) {
  byId("shown-title").textContent = title;
  byId("shown-hint").textContent = hint;
  byId("shown-note").textContent = "";
  const area = byId("shown-text");
  area.value = text;
  area.rows = Math.min(text.split("\n").length, 20);
  area.setAttribute("aria-label", title);
  byId("shown-copy").onclick = async () => {
    if (await copied(text)) {
      byId("shown-note").textContent = say("copied");
    } else {
      area.focus();
      area.select();
      byId("shown-note").textContent = say("copy by hand");
    }
  };
  byId("shown").showModal();
}

// Asks for a key; gives null where people do not want to give one.
export function askForKey(wasWrong) {
  const dialog = byId("key");
  const field = byId("key-text");
  field.value = "";
  byId("key-wrong").hidden = !wasWrong;
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const given = dialog.returnValue === "use" ? field.value.trim() : "";
        field.value = "";
        resolve(given === "" ? null : given);
      },
      { once: true },
    );
  });
}
