"""Precision, recall and F1 of role spans (Carreras & Màrquez 2005)."""

from collections import Counter
from collections.abc import Sequence

from elmokit.tasks.blocks.bio import Span

NOT_COUNTED = ("V", "C-V")
"""The predicate is given, so finding it is no merit."""
CONTINUED = "C-"
COMMON = 0.005
"""A label gets a figure of its own where it has this share of all spans."""


def role_scores(
    gold: Sequence[Sequence[Span]], found: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Give figures in per cent over the spans of all predicates, the predicates themselves apart.

    ``precision``, ``recall``, ``f1``: a span is right if its label, first and last token are.
    ``joined_f1``: as the shared task's srl-eval has it, where a span ``C-X`` belongs to the ``X``
    before it, and an argument is right if all its pieces are.
    ``complete``: predicates whose spans are all right and none is missing.
    ``f1/LABEL``: of each common label alone.
    """
    expected = [_counted(spans) for spans in gold]
    answered = [_counted(spans) for spans in found]
    pairs = list(zip(expected, answered, strict=True))
    of_gold = Counter(span[0] for spans in expected for span in spans)
    of_found = Counter(span[0] for spans in answered for span in spans)
    right = Counter(span[0] for spans, others in pairs for span in spans & others)
    precision, recall, f1 = _figures(right.total(), of_found.total(), of_gold.total())
    joined = [(_joined(spans), _joined(others)) for spans, others in pairs]
    joined_f1 = _figures(
        sum(len(arguments & others) for arguments, others in joined),
        sum(len(others) for _, others in joined),
        sum(len(arguments) for arguments, _ in joined),
    )[2]
    complete = sum(spans == others for spans, others in pairs)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "joined_f1": joined_f1,
        "complete": 100 * complete / max(1, len(pairs)),
        **{
            f"f1/{label}": _figures(right[label], of_found[label], count)[2]
            for label, count in sorted(of_gold.items())
            if count >= COMMON * of_gold.total()
        },
    }


def _counted(spans: Sequence[Span]) -> set[Span]:
    return {span for span in spans if span[0] not in NOT_COUNTED}


def _joined(spans: set[Span]) -> set[tuple[str, tuple[tuple[int, int], ...]]]:
    """Give arguments: a label and its pieces. A piece without a beginning is an argument too."""
    arguments: list[tuple[str, list[tuple[int, int]]]] = []
    last_of: dict[str, list[tuple[int, int]]] = {}
    for label, first, last in sorted(spans, key=lambda span: span[1]):
        own = label.removeprefix(CONTINUED)
        if label.startswith(CONTINUED) and own in last_of:
            last_of[own].append((first, last))
        else:
            last_of[own] = [(first, last)]
            arguments.append((own, last_of[own]))
    return {(label, tuple(pieces)) for label, pieces in arguments}


def _figures(right: int, found: int, gold: int) -> tuple[float, float, float]:
    """Give precision, recall and F1 in per cent; 0 where there is nothing to count."""
    precision = 100 * right / max(1, found)
    recall = 100 * right / max(1, gold)
    return precision, recall, 200 * right / max(1, found + gold)
