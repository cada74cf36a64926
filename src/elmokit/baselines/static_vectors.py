"""Static word vectors: one vector a word, whatever stands around it.

Methods are named as users of gensim expect. V words, D size of a vector
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.formats.word2vec_files import (
    is_binary,
    read_binary_word_vectors,
    writing_word_vectors,
)
from elmokit.formats.word_vectors import read_word_vectors

Vectors = npt.NDArray[np.float32]
Similar = list[tuple[str, float]]


class StaticVectors:
    """Words with their vectors, and which of them are alike."""

    def __init__(self, words: Sequence[str], vectors: npt.NDArray[np.floating]) -> None:
        self.words = tuple(words)
        self.vectors: Vectors = np.asarray(vectors, dtype=np.float32)
        """(V, D) as they were learnt."""
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words) or not self.words:
            raise InputError(
                f"vectors: expected ({len(self.words)}, size) for as many words, "
                f"found {self.vectors.shape}"
            )
        self._places = {word: place for place, word in enumerate(self.words)}
        if len(self._places) != len(self.words):
            raise InputError("words: expected each word once, found some of them twice")
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)  # (V, 1)
        self.units: Vectors = self.vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        """(V, D) with length 1, so that products are cosines; a vector of zeros stays so."""

    @classmethod
    def load(
        cls, file: str | Path, *, limit: int | None = None, wanted: Sequence[str] = ()
    ) -> "StaticVectors":
        """Read a file of word2vec (binary: ``.bin``), GloVe or fastText, as `read_word_vectors`."""
        read = read_binary_word_vectors if is_binary(file) else read_word_vectors
        words, vectors = read(file, limit=limit, wanted=frozenset(wanted))
        if not words:
            raise InputError(f"{file}: holds none of the wanted words")
        return cls(words, vectors)

    def save(self, file: str | Path) -> None:
        """Write word2vec's format, binary if the name ends in ``.bin``, packed if it says so."""
        with writing_word_vectors(file, count=len(self), dim=self.dim) as write:
            write(self.words, self.vectors)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._places

    def __getitem__(self, word: str) -> Vectors:
        """Give the vector (D,) of a word."""
        vector: Vectors = self.vectors[self.place(word)]
        return vector

    @property
    def dim(self) -> int:
        """Size of a vector."""
        return int(self.vectors.shape[1])

    def place(self, word: str) -> int:
        """Give a word's row; an unknown word is an error that names it."""
        if word not in self._places:
            other = next((w for w in (word.lower(), word.capitalize()) if w in self._places), None)
            hint = f"; {other!r} is there" if other is not None else ""
            raise InputError(
                f"{word!r} is not among the {len(self.words):,} words of these vectors{hint}"
            )
        return self._places[word]

    def find(self, word: str) -> int | None:
        """Give the row of a word as it stands or else in lower case; None where it has none."""
        found = self._places.get(word)
        return self._places.get(word.lower()) if found is None else found

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), k: int = 10
    ) -> Similar:
        """Give the ``k`` words nearest to the sum of unit vectors, with their cosines.

        ``negative`` words are taken off; the words asked about are left out of the answer.
        """
        added = [positive] if isinstance(positive, str) else list(positive)
        taken = [negative] if isinstance(negative, str) else list(negative)
        if not added and not taken:
            raise InputError("positive: expected at least one word, found none")
        if k < 1:
            raise InputError(f"k: expected a number of words above 0, found {k}")
        asked = [self.place(word) for word in (*added, *taken)]
        signs = np.array([1.0] * len(added) + [-1.0] * len(taken), dtype=np.float32)
        query = signs @ self.units[asked]  # (D,)
        query /= max(float(np.linalg.norm(query)), float(np.finfo(np.float32).tiny))
        cosines = self.units @ query  # (V,)
        cosines[asked] = -np.inf
        nearest = np.argsort(-cosines, kind="stable")[: min(k, len(self) - len(set(asked)))]
        return [(self.words[place], float(cosines[place])) for place in nearest.tolist()]

    def similarity(self, first: str, second: str) -> float:
        """Give the cosine of two words' vectors."""
        return float(self.units[self.place(first)] @ self.units[self.place(second)])

    def doesnt_match(self, words: Sequence[str]) -> str:
        """Give the word that is least like the mean of all."""
        if len(words) < 2:
            raise InputError(f"words: expected at least two, found {len(words)}")
        rows = self.units[[self.place(word) for word in words]]  # (words, D)
        return words[int(np.argmin(rows @ rows.mean(axis=0)))]

    def analogy(self, first: str, less: str, more: str, k: int = 10) -> Similar:
        """Give what is nearest to ``first - less + more``, as in king - man + woman."""
        return self.most_similar([first, more], [less], k)
