"""Static vectors of words from a text file: word2vec's, GloVe's or fastText's.

V words, D size of a vector
"""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.errors import FormatError
from elmokit.tasks.records import problem, read_lines


class StaticVectors(NamedTuple):
    """Words and their vectors."""

    words: tuple[str, ...]
    vectors: Tensor
    """(V, D), in float16: half the memory, and far more digits than such vectors carry."""


def read_static_vectors(file: Path, *, most: int, wanted: Collection[str]) -> StaticVectors:
    """Read the first ``most`` words of a file and those after them that are ``wanted``.

    Files have the most frequent words first. A first line of two numbers, as word2vec writes it,
    is passed over; the file may be compressed.
    """
    words: dict[str, int] = {}
    rows: list[np.ndarray[tuple[int], np.dtype[np.float16]]] = []
    size = 0
    for number, line in read_lines(file):
        word, _, values = line.rstrip().partition(" ")
        fields = values.split(" ")
        if number == 1 and len(fields) == 1 and word.isdigit() and fields[0].isdigit():
            continue
        if len(rows) >= most and word not in wanted:
            continue
        size = size or len(fields)
        if len(fields) != size or not values:
            raise problem(file, number, f"expected a word and {size} numbers, found {line[:60]!r}")
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite
                row = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise problem(file, number, f"expected a word and numbers ({error})") from error
        if not np.isfinite(row).all() or np.abs(row).max() > np.finfo(np.float16).max:
            raise problem(file, number, f"expected numbers of ordinary size, found {line[:60]!r}")
        if word not in words:
            words[word] = len(rows)
            rows.append(row.astype(np.float16))
    if not rows:
        raise FormatError(file, "holds no word vectors")
    return StaticVectors(tuple(words), torch.from_numpy(np.stack(rows)))
