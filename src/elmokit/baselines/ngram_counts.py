"""Which n-grams a text has, order after order, in sorted arrays.

An n-gram is a pair: the number of the (n-1)-gram that it begins with, and its last word. As one
64-bit key the pair sorts fast and stays small at any order. The number of an n-gram is the place of
its key among the sorted ones.

T items of the text, V words, U distinct n-grams of an order
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


class Grams(NamedTuple):
    """The distinct n-grams of one order."""

    keys: Keys
    """(U,) rising: number of the beginning, times V, plus the last word."""
    counts: npt.NDArray[np.int64]
    """(U,) how often each occurs."""
    suffixes: Places
    """(U,) number of the (n-1)-gram that each ends with; for single words all 0."""
    at_begin: npt.NDArray[np.bool_]
    """(U,) whether it begins with the mark of a sentence's begin."""


def count_ngrams(items: Places, *, vocabulary_size: int, begin: int, order: int) -> Iterator[Grams]:
    """Count the n-grams of orders 1 to ``order`` of sentences that each start with ``begin``.

    ``items`` (T,) are numbers of words; no n-gram reaches over a begin mark. Needs about 45 bytes
    of memory for an item, beside what comes out.
    """
    words = np.arange(vocabulary_size, dtype=np.int64)
    yield Grams(
        keys=words,
        counts=np.bincount(items, minlength=vocabulary_size),
        suffixes=np.zeros(vocabulary_size, dtype=np.int32),
        at_begin=words == begin,
    )
    at_begin = words == begin
    numbers = items  # of the n-gram that ends at each place, -1 for none
    for _ in range(2, order + 1):
        # An n-gram ends where an (n-1)-gram ended one place before.
        places = 1 + np.flatnonzero((numbers[:-1] >= 0) & (items[1:] != begin)).astype(np.int32)
        keys = numbers[places - 1].astype(np.int64)
        keys *= vocabulary_size
        keys += items[places]
        by_key = np.argsort(keys)
        keys = keys[by_key]
        places = places[by_key]
        del by_key
        is_first = np.ones(len(keys), dtype=np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        firsts = np.flatnonzero(is_first)
        distinct = keys[firsts]
        del keys
        suffixes = numbers[places[firsts]]
        numbers = np.full(len(items), -1, dtype=np.int32)
        numbers[places] = np.cumsum(is_first, dtype=np.int32) - 1
        counts = np.diff(firsts, append=len(places))
        del places, is_first, firsts
        at_begin = at_begin[distinct // vocabulary_size]
        yield Grams(distinct, counts, suffixes, at_begin)
