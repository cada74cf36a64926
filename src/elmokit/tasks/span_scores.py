"""Precision, recall and F1 of labelled spans: one is right if label, first and last token are."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from elmokit.tasks.blocks.bio import Span


class SpanCounts(NamedTuple):
    """How many spans of each label there are."""

    right: Counter[str]
    found: Counter[str]
    gold: Counter[str]

    def overall(self) -> dict[str, float]:
        """Give ``precision``, ``recall`` and ``f1`` of all labels together, in per cent."""
        return figures(self.right.total(), self.found.total(), self.gold.total())

    def f1_of(self, label: str) -> float:
        """Give the F1 of one label alone, in per cent."""
        return figures(self.right[label], self.found[label], self.gold[label])["f1"]


def span_counts(
    gold: Sequence[AbstractSet[Span]], found: Sequence[AbstractSet[Span]]
) -> SpanCounts:
    """Count the spans of all texts; both have a set for each text."""
    pairs = list(zip(gold, found, strict=True))
    return SpanCounts(
        right=Counter(label for own, other in pairs for label, *_ in own & other),
        found=Counter(label for spans in found for label, *_ in spans),
        gold=Counter(label for spans in gold for label, *_ in spans),
    )


def figures(right: int, found: int, gold: int) -> dict[str, float]:
    """Give ``precision``, ``recall`` and ``f1`` in per cent; 0 where there is nothing to count."""
    return {
        "precision": 100 * right / max(1, found),
        "recall": 100 * right / max(1, gold),
        "f1": 200 * right / max(1, found + gold),
    }
