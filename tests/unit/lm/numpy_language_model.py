"""The biLM as a language model in float64 numpy, one sentence at a time, from the conventions.

Forward reads ``<S> w1 ... wn`` and predicts ``w1 ... wn </S>``; backward reads ``</S> wn ... w1``
and predicts ``wn ... w1 <S>``. On top of `reference`, and as free of elmokit's own code.
"""

from collections.abc import Sequence

import numpy as np

import reference
from reference import Array, Arrays, Options, State

FORWARD, BACKWARD = 0, 1


class NumpyLanguageModel:
    """Log-probabilities of a character model; states are changed in place, as `reference` does."""

    def __init__(self, arrays: Arrays, options: Options, vocabulary: Sequence[str]) -> None:
        lstm = options["lstm"]
        self.arrays = arrays
        self.options = options
        self.ids = {word: index for index, word in enumerate(vocabulary)}
        self.limits = reference.Limits(lstm["cell_clip"], lstm["proj_clip"])
        self.stacks = [
            [
                reference._bilm_cell(
                    arrays, f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                )
                for layer in range(lstm["n_layers"])
            ]
            for direction in (FORWARD, BACKWARD)
        ]

    def read(self, direction: int, tokens: Sequence[str], state: State) -> Array:
        """Read tokens in the order given; gives log p of every word after each of them."""
        inputs = np.array(
            [
                reference._bilm_characters(self.arrays, self.options["char_cnn"], token)
                for token in tokens
            ]
        )
        for layer, cell in enumerate(self.stacks[direction]):
            key = (direction, layer)
            start = state.get(key, (np.zeros(len(cell.biases["input"])), np.zeros(inputs.shape[1])))
            outputs, state[key] = reference._run_cell(
                inputs, cell, self.limits, start, reference.Largest()
            )
            skip = layer > 0 and self.options["lstm"]["use_skip_connections"]
            inputs = outputs + inputs if skip else outputs
        weight, bias = (self.arrays[f"softmax/{name}"].astype(np.float64) for name in "Wb")
        logits = inputs @ weight.T + bias
        log_probabilities: Array = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return log_probabilities

    def sentence(self, direction: int, tokens: Sequence[str], state: State) -> list[float]:
        """Log p of each item of a sentence in the order of reading, its mark last."""
        words = list(tokens) if direction == FORWARD else list(tokens)[::-1]
        first, last = ("<S>", "</S>") if direction == FORWARD else ("</S>", "<S>")
        found = self.read(direction, [first, *words], state)
        targets = [self.ids.get(word, self.ids["<UNK>"]) for word in [*words, last]]
        return [float(row[target]) for row, target in zip(found, targets, strict=True)]

    def document(
        self, direction: int, sentences: Sequence[Sequence[str]], state: State
    ) -> list[float]:
        """The same of sentences that follow each other, in the order of reading."""
        ordered = list(sentences) if direction == FORWARD else list(sentences)[::-1]
        return [value for tokens in ordered for value in self.sentence(direction, tokens, state)]

    def warm_state(self) -> State:
        """What five full stops leave behind, each after the mark that a direction begins with."""
        state: State = {}
        for direction, mark in ((FORWARD, "<S>"), (BACKWARD, "</S>")):
            self.read(direction, [mark, "."] * 5, state)
        return state
