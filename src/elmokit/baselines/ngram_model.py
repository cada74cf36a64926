"""An n-gram language model with back-off: looked up exactly, many words at once.

T items, V words, U n-grams of an order
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.baselines.kneser_ney import Discounts, Estimate, Level, estimate
from elmokit.baselines.ngram_counts import Keys, Places
from elmokit.errors import InputError
from elmokit.text.vocabulary import Vocabulary

Doubles = npt.NDArray[np.float64]

MOST_ORDER = 9


class Found(NamedTuple):
    """What a model says of each item of a text, begin marks left out."""

    log_probabilities: Doubles
    """(T,) natural logarithms."""
    orders: npt.NDArray[np.int8]
    """(T,) the length of the longest n-gram ending here that the model knows."""


class NgramModel:
    """Probabilities of words after at most ``order - 1`` others of the same sentence."""

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        levels: Sequence[Level],
        discounts: Sequence[Discounts] = (),
        tokeniser: str = "words",
    ) -> None:
        missing = vocabulary.missing_marks()
        if missing:
            raise InputError(f"vocabulary: lacks the marks {' '.join(missing)}")
        self.vocabulary = vocabulary
        self.levels = tuple(levels)
        self.discounts = tuple(discounts)
        self.tokeniser = tokeniser
        """Name of the tokeniser that cut the text it learnt from."""
        self._begin, self._end = vocabulary.ids([vocabulary.marks.begin, vocabulary.marks.end])

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.levels)

    @property
    def ngram_counts(self) -> tuple[int, ...]:
        """How many n-grams of each order there are; of order 1 the whole vocabulary."""
        return tuple(len(level.keys) for level in self.levels)

    @classmethod
    def from_items(
        cls, items: Places, vocabulary: Vocabulary, *, order: int, tokeniser: str = "words"
    ) -> "NgramModel":
        """Estimate a model from ids of a vocabulary: sentences with both of their marks."""
        if not 1 <= order <= MOST_ORDER:
            raise InputError(f"order: expected 1 to {MOST_ORDER}, found {order}")
        begin = int(vocabulary.ids([vocabulary.marks.begin])[0])
        found: Estimate = estimate(items, vocabulary_size=len(vocabulary), begin=begin, order=order)
        return cls(
            vocabulary=vocabulary,
            levels=found.levels,
            discounts=found.discounts,
            tokeniser=tokeniser,
        )

    def items(self, sentences: Sequence[Sequence[str]]) -> Places:
        """Give the ids of sentences, each with its marks, unknown words as the unknown mark."""
        marks = self.vocabulary.marks
        words = [w for sentence in sentences for w in (marks.begin, *sentence, marks.end)]
        return self.vocabulary.ids(words).astype(np.int32)

    def look_up(self, items: Places) -> Found:
        """Give the log-probability of every item that is no begin mark, in order."""
        size = len(self.vocabulary)
        numbers = items.astype(np.int64)  # of the n-gram that ends here, -1 for none
        with np.errstate(divide="ignore"):
            found = np.log(self.levels[0].probabilities[items].astype(np.float64))
        orders = np.ones(len(items), dtype=np.int8)
        for order, level in enumerate(self.levels[1:], start=2):
            context = np.empty_like(numbers)
            context[:1], context[1:] = -1, numbers[:-1]
            numbers = np.full_like(context, -1)
            inside = np.flatnonzero(context >= 0)
            places = _find(level.keys, context[inside] * size + items[inside])
            numbers[inside] = places
            known, unseen = inside[places >= 0], inside[places < 0]
            found[known] = np.log(level.probabilities[places[places >= 0]].astype(np.float64))
            backoffs = self.levels[order - 2].backoffs[context[unseen]]
            found[unseen] += np.log(backoffs.astype(np.float64))
            orders[known] = order
        predicted = items != self._begin
        return Found(found[predicted], orders[predicted])

    def score(self, sentences: Sequence[Sequence[str]]) -> list[Found]:
        """Give for each tokenised sentence its n+1 items: the words, and the mark at its end."""
        found = self.look_up(self.items(sentences))
        cuts = np.cumsum([len(sentence) + 1 for sentence in sentences])[:-1]
        return [
            Found(log_probabilities, orders)
            for log_probabilities, orders in zip(
                np.split(found.log_probabilities, cuts), np.split(found.orders, cuts), strict=True
            )
        ]

    def next_word(self, words: Sequence[str]) -> Doubles:
        """Give the probability of every word of the vocabulary (V,) after the beginning ``words``.

        They sum to 1; the begin mark has 0.
        """
        size = len(self.vocabulary)
        context = self.items([words])[:-1]
        after: Doubles = self.levels[0].probabilities.astype(np.float64)
        for length in range(1, min(len(context), self.order - 1) + 1):
            number = self._number(context[len(context) - length :])
            if number < 0:
                break
            after = after * float(self.levels[length - 1].backoffs[number])
            level = self.levels[length]
            here = slice(*np.searchsorted(level.keys, [number * size, (number + 1) * size]))
            after[level.keys[here] % size] = level.probabilities[here]
        return after

    def _number(self, ngram: Places) -> int:
        """Give the number of an n-gram, -1 where it is unknown."""
        number = int(ngram[0])
        for level, word in zip(self.levels[1:], ngram[1:].tolist(), strict=False):
            number = int(_find(level.keys, np.array([number * len(self.vocabulary) + word]))[0])
            if number < 0:
                break
        return number


def _find(keys: Keys, wanted: Keys) -> Keys:
    """Give the places of keys among sorted ones, -1 for those that are not there."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return np.where(keys[places] == wanted, places, -1)
