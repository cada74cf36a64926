// What went wrong, in plain words.

import { byId, element } from "./element.js";
import { say } from "./strings.js";
import { server } from "./view.js";

let shown = null; // {text, detail, retry}, to be said again in another language

export function hideProblem() {
  shown = null;
  byId("problem").hidden = true;
}

// Shows a problem with a button that does `retry`.
export function failed(problem, retry) {
  shown = {
    text: () => `${plainly(problem)} ${say("problem safe")}`,
    detail: problem.message,
    retry: () => {
      hideProblem();
      retry();
    },
  };
  sayProblem();
}

export function showWaiting(seconds) {
  shown = { text: () => say("busy again", { seconds }), detail: "", retry: null };
  sayProblem();
}

export function hideWaiting() {
  if (shown !== null && shown.retry === null) hideProblem();
}

export function sayProblem() {
  if (shown === null) return;
  const { text, detail, retry } = shown;
  const box = byId("problem");
  box.replaceChildren(element("p", {}, text()));
  if (retry) {
    box.append(element("button", { type: "button", class: "quiet", click: retry }, say("try again")));
  }
  if (detail) box.append(element("span", { class: "detail", lang: "en" }, detail));
  box.hidden = false;
}

export class TooManySentences extends Error {
  constructor(count) {
    super("");
    this.count = count;
  }
}

function plainly(problem) {
  const limits = server.capabilities?.limits ?? {};
  if (problem instanceof TooManySentences) {
    return say("problem too many", { count: problem.count, most: limits.inputs });
  }
  const { status, code } = problem;
  if (status === 0) return say("problem unreachable");
  if (status === 401) return say("problem key");
  if (status === 404) return say("problem missing");
  if (status === 413 || code === "too_many_tokens" || code === "answer_too_large") {
    return say("problem too large");
  }
  if (status === 429) return say("problem busy");
  if (status === 503) return say("problem stopping");
  if (code === "sentence_too_long") {
    return say("problem too long", { most: limits.sentence_tokens });
  }
  if (status >= 400 && status < 500) return say("problem refused");
  return say("problem other", { status });
}
