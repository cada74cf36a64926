"""Modified Kneser-Ney estimation of n-gram probabilities.

The formulas are those of Chen and Goodman (1999), section 4.1.6, with the counts as Heafield et
al. (2013) set them down: the highest order and n-grams at a sentence's begin keep how often they
occur, every other n-gram counts in how many different words it follows. Every order is
interpolated with the one below it, single words with the same share for each of the vocabulary.

V words, U n-grams of an order, C n-grams of the order below, which are their contexts
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.baselines.ngram_counts import Grams, Keys, Places, count_ngrams

Floats = npt.NDArray[np.float32]

# What Chen and Goodman's formula gives for common text, for those too small or too even for it.
FALLBACK = (0.5, 1.0, 1.5)
_PIECE = 2**22


class Discounts(NamedTuple):
    """What is taken off n-grams that count 1, 2, and 3 or more."""

    values: tuple[float, float, float]
    estimated: bool
    """Whether they are the text's own; else they are `FALLBACK`."""


class Level(NamedTuple):
    """All n-grams of one order."""

    keys: Keys
    """(U,) see `ngram_counts`."""
    probabilities: Floats
    """(U,) of the last word after the others."""
    backoffs: Floats
    """(U,) what the order below counts after this n-gram; empty for the highest order."""


class Estimate(NamedTuple):
    """What was learnt from a text."""

    levels: list[Level]
    """Orders 1 and up."""
    discounts: list[Discounts]
    """One set an order."""


def estimate(items: Places, *, vocabulary_size: int, begin: int, order: int) -> Estimate:
    """Estimate a model of ``order`` from sentences of numbered words, each after a begin mark."""
    levels: list[Level] = []
    discounts: list[Discounts] = []
    for grams, counts in _adjusted(
        count_ngrams(items, vocabulary_size=vocabulary_size, begin=begin, order=order), begin
    ):
        discount = discounts_of(counts)
        if levels:
            below = levels[-1].probabilities
            context_count = len(below)
        else:
            # The uniform distribution; the begin mark is never predicted.
            below = np.array([1 / (vocabulary_size - 1)], dtype=np.float32)
            context_count = 1
        probabilities, backoffs = _interpolated(
            grams, counts, discount, below, context_count, vocabulary_size if levels else None
        )
        if levels:
            levels[-1] = levels[-1]._replace(backoffs=backoffs)
        else:
            probabilities[begin] = 0.0
        levels.append(Level(grams.keys, probabilities, np.empty(0, dtype=np.float32)))
        discounts.append(discount)
    return Estimate(levels, discounts)


def discounts_of(counts: npt.NDArray[np.int64]) -> Discounts:
    """Estimate the discounts of one order from its adjusted counts."""
    of_count = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].tolist()
    if not all(of_count[:3]):
        return Discounts(FALLBACK, estimated=False)
    share = of_count[0] / (of_count[0] + 2 * of_count[1])
    one, two, three = (k - (k + 1) * share * of_count[k] / of_count[k - 1] for k in (1, 2, 3))
    if not (0 < one <= 1 and 0 < two <= 2 and 0 < three <= 3):
        return Discounts(FALLBACK, estimated=False)
    return Discounts((one, two, three), estimated=True)


def _adjusted(orders: Iterator[Grams], begin: int) -> Iterator[tuple[Grams, npt.NDArray[np.int64]]]:
    """Give each order with its adjusted counts; those of an order need the one above it."""
    grams = next(orders)
    # Nothing predicts the begin mark: as a single word it does not count.
    grams.counts[begin] = 0
    for above in orders:
        # Each distinct longer n-gram is one different word before its suffix.
        followed = np.bincount(above.suffixes, minlength=len(grams.keys))
        yield grams, np.where(grams.at_begin, grams.counts, followed)
        grams = above
    yield grams, grams.counts


def _interpolated(
    grams: Grams,
    counts: npt.NDArray[np.int64],
    discount: Discounts,
    below: Floats,
    context_count: int,
    vocabulary_size: int | None,
) -> tuple[Floats, Floats]:
    """Give probabilities (U,) and the back-off weights of the contexts (C,).

    Keys are sorted, so a piece of them touches one stretch of contexts.
    """
    amounts = np.array([0.0, *discount.values])
    totals = np.zeros(context_count)
    taken = np.zeros(context_count)
    pieces = [slice(start, start + _PIECE) for start in range(0, len(grams.keys), _PIECE)]
    for piece in pieces:
        context = _contexts(grams.keys[piece], vocabulary_size)
        first, count = int(context[0]), counts[piece]
        here = slice(first, int(context[-1]) + 1)
        totals[here] += np.bincount(context - first, weights=count)
        taken[here] += np.bincount(context - first, weights=amounts[np.minimum(count, 3)])
    # A context that nothing follows, such as the end mark, leaves all to the order below.
    backoffs = np.divide(taken, totals, out=np.ones(context_count), where=totals > 0)
    probabilities = np.empty(len(grams.keys), dtype=np.float32)
    for piece in pieces:
        context, count = _contexts(grams.keys[piece], vocabulary_size), counts[piece]
        own = (count - amounts[np.minimum(count, 3)]) / np.maximum(totals[context], 1)
        probabilities[piece] = own + backoffs[context] * below[grams.suffixes[piece]]
    return probabilities, backoffs.astype(np.float32)


def _contexts(keys: Keys, vocabulary_size: int | None) -> Keys:
    return np.zeros_like(keys) if vocabulary_size is None else keys // vocabulary_size
