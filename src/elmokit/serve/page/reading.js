// Sentences as the model reads them: their words, vectors of all layers, surprise.
//
// The answer to a sentence depends on the sentence alone, so each is asked for once.

import { ask } from "./server.js";
import { decoded } from "./vectors.js";

const MOST_KEPT = 500;

export function sentencesOf(text) {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export class Reader {
  #vectors = new Map();
  #scores = new Map();

  // Gives one {text, tokens, layers, shape} for each sentence.
  vectors(model, sentences, signal) {
    return this.#answers(this.#vectors, model, sentences, async (asked) => {
      const body = { model, input: asked, layers: "all", encoding_format: "base64" };
      const { data } = await ask("v1/tokens", body, { signal });
      return data.map(({ tokens, shape, vectors }, place) => ({
        text: asked[place],
        tokens,
        shape,
        layers: decoded(vectors),
      }));
    });
  }

  // Gives one list of {forward, backward, known} for each sentence; both are -log p.
  surprises(model, sentences, signal) {
    return this.#answers(this.#scores, model, sentences, async (asked) => {
      const { data } = await ask("v1/score", { model, input: asked }, { signal });
      return data.map(({ tokens }) =>
        tokens.map(({ forward, backward, known }) => ({
          forward: -forward,
          backward: -backward,
          known,
        })),
      );
    });
  }

  async #answers(kept, model, sentences, fetched) {
    const name = (sentence) => `${model}\n${sentence}`;
    const missing = [...new Set(sentences)].filter((sentence) => !kept.has(name(sentence)));
    if (missing.length > 0) {
      const answers = await fetched(missing);
      if (kept.size + answers.length > MOST_KEPT) {
        const wanted = new Set(sentences.map(name));
        for (const old of kept.keys()) if (!wanted.has(old)) kept.delete(old);
      }
      missing.forEach((sentence, place) => kept.set(name(sentence), answers[place]));
    }
    return sentences.map((sentence) => kept.get(name(sentence)));
  }
}
