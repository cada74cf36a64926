"""What a static model says about a word: one list for all of its senses.

V words, D size of a vector
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmokit.errors import InputError
from elmokit.formats.word_vectors import read_word_vectors

LIMIT = 100_000


class StaticNeighbour(NamedTuple):
    """A word near to another."""

    word: str
    similarity: float


def static_neighbours(
    file: str | Path, word: str, k: int = 10, *, limit: int = LIMIT
) -> list[StaticNeighbour]:
    """Give the ``k`` words nearest to ``word`` among the first ``limit`` of a file of vectors.

    The file is in the text format of word2vec and GloVe. A word that it lacks is looked up in
    lower case, since many such files have no other.
    """
    found = read_word_vectors(file, limit=limit, wanted={word, word.lower()})
    numbers = {known: number for number, known in enumerate(found.words)}
    number = numbers.get(word, numbers.get(word.lower()))
    if number is None:
        raise InputError(f"{file}: has no vector for {word!r}")
    lengths = np.linalg.norm(found.vectors, axis=1, keepdims=True)
    units = found.vectors / np.maximum(lengths, 1e-30)  # (V, D)
    cosines = units @ units[number]
    cosines[number] = -np.inf
    best = np.argsort(-cosines, kind="stable")[: min(k, len(cosines) - 1)]
    return [StaticNeighbour(found.words[row], float(cosines[row])) for row in best]
