// Tokens as people write them. The text that they were cut from is not always at hand.

const CLINGS_TO_LEFT = /^([.,;:!?%)\]}…]+|['’](s|re|ve|ll|d|m)|n['’]t)$/i;
const CLINGS_TO_RIGHT = /^[([{$£€]$/;

// Whether a space stands between two tokens.
export function spaceBetween(left, right) {
  return !CLINGS_TO_LEFT.test(right) && !CLINGS_TO_RIGHT.test(left);
}

export function joined(tokens) {
  return tokens.reduce(
    (text, token, place) =>
      place > 0 && spaceBetween(tokens[place - 1], token) ? `${text} ${token}` : text + token,
    "",
  );
}

// Tokens with spans {label, first, last}, which do not overlap, made into nodes by `make`.
export function withSpans(tokens, spans, make) {
  const nodes = [];
  let next = 0;
  const add = (node, first, last) => {
    if (first > last) return;
    if (first > 0 && spaceBetween(tokens[first - 1], tokens[first])) nodes.push(" ");
    nodes.push(node(joined(tokens.slice(first, last + 1))));
  };
  for (const span of [...spans].sort((one, two) => one.first - two.first)) {
    add((text) => text, next, span.first - 1);
    add((text) => make(text, span.label), span.first, span.last);
    next = span.last + 1;
  }
  add((text) => text, next, tokens.length - 1);
  return nodes;
}
