"""Words with one vector wherever they stand: word2vec's, GloVe's or fastText's.

n tokens, w words in them, V words that have vectors, D size of a vector
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from elmokit.analysis.probes.vector_source import token_means, word_counts, words_of
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.embed.layer_choice import Vectors


class StaticWords:
    """Static vectors as a source; a word they lack is tried in lower case and then gets zeros."""

    layers: tuple[int | None, ...] = (None,)

    def __init__(self, static: StaticVectors, *, name: str) -> None:
        self.name = name
        self.dim = static.dim
        zeros = np.zeros((1, self.dim), dtype=np.float32)
        self._table: Vectors = np.concatenate([static.vectors, zeros])  # (V + 1, D)
        self._rows = {word: row for row, word in enumerate(static.words)}

    def vectors(self, sentences: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Give (1, n, D) for each sentence."""
        for tokens in sentences:
            rows = [self._row(word) for word in words_of(tokens)]  # (w,)
            yield token_means(self._table[rows][None], word_counts(tokens))

    def _row(self, word: str) -> int:
        found = self._rows.get(word)
        return self._rows.get(word.lower(), len(self._rows)) if found is None else found
