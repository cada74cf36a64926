// Asks the server. The key is kept in this variable and nowhere else.

let key = null;
let asking = null;

const TRIES_WHEN_BUSY = 3;
const LONGEST_WAIT = 30;

export class Problem extends Error {
  constructor(status, { message = "", param = null, code = null } = {}, seconds = null) {
    super(message);
    this.status = status; // 0: no answer at all
    this.param = param;
    this.code = code;
    this.seconds = seconds; // after which the server wants to be asked again
  }
}

// How people are asked for a key, and told that the server is busy; set by the page.
export const people = {
  giveKey: async () => null,
  wait: () => {},
  resume: () => {},
};

// The answer to GET `path`, or to POST with a body.
export async function ask(path, body, { signal } = {}) {
  for (let tried = 1; ; tried++) {
    const used = key;
    const response = await sent(path, body, used, signal);
    if (response.ok) {
      if (tried > 1) people.resume();
      return response.json();
    }
    const problem = await problemOf(response);
    if (problem.status === 401 && (await newKey(used))) continue;
    if (problem.status === 429 && tried < TRIES_WHEN_BUSY) {
      people.wait(problem.seconds);
      await pause(problem.seconds, signal);
      continue;
    }
    throw problem;
  }
}

async function sent(path, body, used, signal) {
  const headers = { Accept: "application/json" };
  if (used !== null) headers.Authorization = `Bearer ${used}`;
  const asked = { headers, signal };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    asked.method = "POST";
    asked.body = JSON.stringify(body);
  }
  try {
    return await fetch(path, asked);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0);
  }
}

async function problemOf(response) {
  const asked = Number(response.headers.get("Retry-After"));
  const seconds = Math.min(Number.isFinite(asked) && asked > 0 ? asked : 1, LONGEST_WAIT);
  let error = {};
  try {
    ({ error = {} } = await response.json());
  } catch {
    // An answer that is not JSON comes from something between us and the server.
  }
  return new Problem(response.status, error, seconds);
}

// Several requests may be refused at once; people are asked only once.
async function newKey(refused) {
  if (key !== refused) return true;
  asking ??= people.giveKey(refused !== null).finally(() => (asking = null));
  const given = await asking;
  if (given === null) return false;
  key = given;
  return true;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("", "AbortError"));
    });
  });
}

// Runs one request at a time: a newer one stops the one before.
export class Latest {
  #controller = null;

  stop() {
    this.#controller?.abort();
    this.#controller = null;
  }

  // Gives what `work(signal)` gives, or undefined where it was stopped.
  async run(work) {
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      const answer = await work(controller.signal);
      return controller.signal.aborted ? undefined : answer;
    } catch (error) {
      if (controller.signal.aborted || error.name === "AbortError") return undefined;
      throw error;
    }
  }
}
