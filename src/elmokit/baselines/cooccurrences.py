"""How often words stand near each other, nearer ones counting more, in sorted sparse arrays.

T words of a text, V words of the vocabulary, N pairs
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]

# Not more than so many pairs are sorted at once: 16 bytes each, several times over.
_PAIRS_AT_ONCE = 2**23


class Cooccurrences(NamedTuple):
    """Pairs of words that occur near each other; a pair and its mirror image are one."""

    first: Ids
    """(N,) the smaller id."""
    second: Ids
    """(N,) the larger id, or the same."""
    weights: Weights
    """(N,) the sum of 1/distance; a word beside itself counts for both of its places."""

    def mirrored(self) -> "Cooccurrences":
        """Give both directions of every pair, as GloVe's objective sums over them."""
        other = self.first != self.second
        return Cooccurrences(
            np.concatenate([self.first, self.second[other]]),
            np.concatenate([self.second, self.first[other]]),
            np.concatenate([self.weights, self.weights[other]]),
        )


def count_cooccurrences(
    pieces: Iterable[Ids], *, vocabulary_size: int, window: int
) -> Cooccurrences:
    """Count pairs at most ``window`` words apart, weighted by 1/distance.

    Every piece is a part of the text: ids of words, -1 between sentences, which no pair reaches
    over, nor over the end of a piece. Memory holds the distinct pairs, not the text.
    """
    keys, weights = np.empty(0, dtype=np.int64), np.empty(0)
    waiting: list[tuple[Ids, Weights]] = []
    size = 0
    for more_keys, more_weights in _piece_counts(pieces, vocabulary_size, window):
        waiting.append((more_keys, more_weights))
        size += len(more_keys)
        if size > len(keys):  # joined when they have doubled: each pair moves a few times
            keys, weights = _summed([(keys, weights), *waiting])
            waiting, size = [], 0
    keys, weights = _summed([(keys, weights), *waiting])
    first, second = np.divmod(keys, vocabulary_size)
    return Cooccurrences(first, second, weights)


def _piece_counts(
    pieces: Iterable[Ids], vocabulary_size: int, window: int
) -> Iterator[tuple[Ids, Weights]]:
    step = max(_PAIRS_AT_ONCE // window, 1)
    for ids in pieces:
        sentence = np.cumsum(ids < 0)  # the number of each word's sentence
        for start in range(0, len(ids), step):
            # Pairs belong to the step that holds their first word.
            found = []
            for distance in range(1, window + 1):
                left = ids[start : start + step]
                right = ids[start + distance : start + step + distance]
                left = left[: len(right)]
                near = (
                    sentence[start : start + len(right)]
                    == sentence[start + distance : start + distance + len(right)]
                )
                near &= (left >= 0) & (right >= 0)
                left, right = left[near], right[near]
                keys = np.minimum(left, right) * vocabulary_size + np.maximum(left, right)
                found.append((keys, np.where(left == right, 2.0, 1.0) / distance))
            yield _summed(found)


def _summed(parts: list[tuple[Ids, Weights]]) -> tuple[Ids, Weights]:
    """Add up the weights of equal keys."""
    keys = np.concatenate([part[0] for part in parts])
    weights = np.concatenate([part[1] for part in parts])
    distinct, places = np.unique(keys, return_inverse=True)
    summed: Weights = np.bincount(places, weights=weights, minlength=len(distinct)).astype(float)
    return distinct, summed
