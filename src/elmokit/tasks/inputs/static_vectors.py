"""Static vectors of words as a task's input.

V words, D size of a vector
"""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.formats.word_vectors import read_word_vectors


class StaticVectors(NamedTuple):
    """Words and their vectors."""

    words: tuple[str, ...]
    vectors: Tensor
    """(V, D), in float16: half the memory, and far more digits than such vectors carry."""


def read_static_vectors(file: Path, *, most: int, wanted: Collection[str]) -> StaticVectors:
    """Read the first ``most`` words of a file and those after them that are ``wanted``.

    Files have the most frequent words first.
    """
    words, vectors = read_word_vectors(file, limit=most, wanted=wanted, dtype=np.float16)
    return StaticVectors(words, torch.from_numpy(vectors))
