// What is seen, in one place, and what the server said about it.

// All of this goes into links.
export const view = {
  text: "",
  model: null, // null: the server's first
  word: null, // {sentence, token}, counted from 0
  layer: null, // null: the top one
  mix: null, // amounts of the layers, or null for one layer alone
  language: null, // null: the browser's
};

export const server = { models: [], capabilities: null };

// Answers to the sentences that are shown.
export const shown = {
  reading: [], // {text, tokens, layers, shape} of each sentence
  word: null, // {sentence, token, text} of the chosen one; the view's may be of a text to come
  rows: [], // unit vectors of its words, in the layers that are chosen
  cosines: null, // of all words with the chosen one
  surprises: null,
  substitutes: null,
  exact: false,
  neighbours: null,
  tasks: [],
};

export function model() {
  return server.models.find(({ id }) => id === view.model) ?? defaultModel();
}

export function defaultModel() {
  const { models, capabilities } = server;
  return models.find(({ id }) => id === capabilities.model) ?? models[0];
}

// The word that was chosen, or the same word beside it; its place may have moved while typing.
export function keptWord(word, reading) {
  if (word === null) return null;
  const tokens = reading[word.sentence]?.tokens ?? [];
  const text = word.text ?? tokens[word.token]?.text;
  const far = (token) => Math.abs(token - word.token);
  const [token] = [...tokens.keys()]
    .filter((place) => tokens[place].text === text)
    .sort((one, two) => far(one) - far(two));
  return token === undefined ? null : { sentence: word.sentence, token, text };
}
