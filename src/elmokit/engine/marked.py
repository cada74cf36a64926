"""Sentences with the marks that a biLM reads around them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.config import Marks


def with_marks(sentences: Sequence[Sequence[str]], marks: Marks) -> list[list[str]]:
    """Put both marks around each sentence."""
    return [[marks.begin, *sentence, marks.end] for sentence in sentences]


def places_of_words(sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
    """Say where the words of sentences stand when all are marked and follow each other."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    # Each word has before it one mark of its own sentence and two of every earlier one.
    return np.arange(lengths.sum()) + np.repeat(2 * np.arange(len(lengths)) + 1, lengths)
