// The view as a program: what it prints are the numbers that are seen.

import { COUNT } from "./substitutes.js";

// JSON's strings are Python's too.
const quoted = (text) => JSON.stringify(text);

// `chosen` is {sentence, token, text} or null; `mix` are weights, or null for one `layer`.
export function pythonFor({ model, sentences, chosen, layer, mix, canGuess, exact }) {
  const layers = mix === null ? `${layer}` : `[${mix.join(", ")}]`;
  const place = chosen && `[${chosen.sentence}][${chosen.token}]`;
  const lines = [
    "import elmokit",
    "",
    `elmo = elmokit.load(${quoted(model)})`,
    "sentences = [",
    ...sentences.map((sentence) => `    ${quoted(sentence)},`),
    "]",
    "tokens = [[token.text for token in elmo.tokenise(sentence)] for sentence in sentences]",
    `vectors = elmo.embed(tokens, layers=${layers})`,
  ];
  if (chosen) {
    lines.push(
      "",
      `chosen = vectors${place}  # ${chosen.text}`,
      `print("similarity to", tokens${place})`,
      "for words, rows in zip(tokens, vectors):",
      "    for word, cosine in zip(words, elmo.similarity(chosen, rows)[0].tolist()):",
      '        print(f"{cosine:8.5f}  {word}")',
    );
  }
  if (canGuess) {
    lines.push(
      "",
      'print("surprise, read from the left and from the right")',
      "for words, score in zip(tokens, elmo.score(tokens)):",
      "    for word, forward, backward in zip(words, score.forward, score.backward):",
      '        print(f"{-forward:8.5f}  {-backward:8.5f}  {word}")',
    );
  }
  if (chosen && canGuess) {
    const [tokens, place] = [`tokens[${chosen.sentence}]`, chosen.token];
    lines.push(
      "",
      `print("in the place of", ${tokens}[${place}])`,
      `found = elmo.substitutes((${tokens}, ${place}), count=${COUNT}${exact ? "" : ", rescore=False"})`,
      "for substitute in found:",
      '    print(f"{substitute.probability:8.5f}  {substitute.word}")',
    );
  }
  return `${lines.join("\n")}\n`;
}
