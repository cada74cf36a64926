"""A list of words with ids, one word a line in files."""

import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elmokit.config import Marks
from elmokit.errors import InputError


class Vocabulary:
    """Words in the order of their ids.

    Where a word stands twice the later id counts, as in the original code.
    """

    def __init__(self, words: Iterable[str], *, marks: Marks | None = None) -> None:
        self.words = tuple(words)
        self.marks = marks or Marks()
        self._ids = {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and self.marks == other.marks

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def is_own_id(self) -> npt.NDArray[np.bool_]:
        """Say of each id (V,) whether it is what its word counts as; found once, read-only."""
        own: npt.NDArray[np.bool_] = self.ids(self.words) == np.arange(len(self))
        own.setflags(write=False)
        return own

    def missing_marks(self) -> list[str]:
        """Name the marks that the vocabulary lacks; a model that reads word ids needs all."""
        marks = (self.marks.begin, self.marks.end, self.marks.unknown)
        return [mark for mark in marks if mark not in self._ids]

    def ids(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Give the id of each word (N,), the id of the unknown mark for those not listed."""
        unknown = self._ids.get(self.marks.unknown)
        if unknown is None:
            for word in words:
                if word not in self._ids:
                    raise InputError(
                        f"{word!r} is not in the vocabulary, and neither is the mark "
                        f"{self.marks.unknown!r} that stands for unknown words"
                    )
            unknown = -1
        return np.fromiter(
            map(self._ids.get, words, itertools.repeat(unknown)), np.int64, count=len(words)
        )

    def batch_ids(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
        """Give bilm-tf's batch of word ids: marks added, ids counted from 1, 0 for padding."""
        missing = self.missing_marks()
        if missing:
            raise InputError(f"the vocabulary lacks the mark {missing[0]!r}")
        rows = [
            self.ids([self.marks.begin, *sentence, self.marks.end]) + 1 for sentence in sentences
        ]
        batch = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=np.int64)
        for index, row in enumerate(rows):
            batch[index, : len(row)] = row
        return batch
