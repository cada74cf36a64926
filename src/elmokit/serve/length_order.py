"""Sentences of like length next to each other: a batch of them takes less time.

Where a request goes into several batches, each then holds sentences of about one length. The
answer comes in the order in which they were sent.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.serve.embedding import Wanted
from elmokit.serve.fields import Sentences
from elmokit.serve.served_model import ServedModel
from elmokit.serve.work import Work

Array = npt.NDArray[np.float32]


class SortedSentences:
    """The sentences of a request, the longest first."""

    def __init__(self, sentences: Sentences) -> None:
        self._words = sentences.words
        self._order = sorted(range(len(self._words)), key=lambda row: -len(self._words[row]))
        self._costs = sentences.costs

    def work(self, model: ServedModel, wanted: Wanted) -> Work:
        """Ask a model for their vectors."""
        words = [self._words[row] for row in self._order]
        costs = [self._costs[row] for row in self._order]
        return Work(model.embedding, words, costs, wanted)

    def pooled(self, parts: Sequence[Array]) -> Array:
        """Give vectors (B, D) in the order of the request."""
        found = np.empty((len(self._order), parts[0].shape[1]), dtype=np.float32)
        found[self._order] = np.concatenate(parts)
        return found

    def rows(self, parts: Sequence[Array]) -> list[Array]:
        """Give the array (..., n, D) of each sentence in the order of the request."""
        vectors = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)
        rows = [vectors] * len(self._order)
        end = 0
        for row in self._order:
            first, end = end, end + len(self._words[row])
            rows[row] = vectors[..., first:end, :]
        return rows
