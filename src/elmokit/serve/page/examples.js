// Sentences that show something at one click. The bundled model knows English, so they are English
// whatever the page speaks.

export const EXAMPLES = {
  bank: {
    text: [
      "She sat on the bank of the river and watched the water.",
      "The boat was tied to a tree on the north bank of the stream.",
      "The bank raised its interest rates on loans.",
      "The bank lent him money to buy a small house.",
    ].join("\n"),
    word: { sentence: 0, token: 4 },
    layer: null,
  },
  play: {
    text: [
      "We used to play together after school.",
      "He wants to play football with his friends.",
      "She wrote a play about the war.",
      "He went to the theatre to see a play.",
    ].join("\n"),
    word: { sentence: 2, token: 3 },
    layer: null,
  },
  spring: {
    text: [
      "They came back in the spring of 1946.",
      "She was born in the spring of that year.",
      "The village gets its water from a spring in the rocks.",
      "The well is fed by a natural spring.",
      "A steel spring holds the lid of the box.",
    ].join("\n"),
    word: { sentence: 0, token: 5 },
    layer: null,
  },
  typos: {
    text: [
      "The government will definitely build a beautiful museum.",
      "The goverment will definately build a beatiful musuem.",
      "The govrenment will definitly build a beautifull museeum.",
    ].join("\n"),
    word: { sentence: 0, token: 1 },
    // The spelling alone; no dictionary is asked.
    layer: 0,
  },
};
