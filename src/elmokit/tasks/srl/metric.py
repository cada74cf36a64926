"""Precision, recall and F1 of role spans (Carreras & Màrquez 2005)."""

from collections.abc import Sequence

from elmokit.tasks.blocks.bio import Span
from elmokit.tasks.span_scores import figures, span_counts

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
    counts = span_counts(expected, answered)
    pairs = list(zip(expected, answered, strict=True))
    joined = [(_joined(spans), _joined(others)) for spans, others in pairs]
    joined_figures = figures(
        sum(len(arguments & others) for arguments, others in joined),
        sum(len(others) for _, others in joined),
        sum(len(arguments) for arguments, _ in joined),
    )
    complete = sum(spans == others for spans, others in pairs)
    return {
        **counts.overall(),
        "joined_f1": joined_figures["f1"],
        "complete": 100 * complete / max(1, len(pairs)),
        **{
            f"f1/{label}": counts.f1_of(label)
            for label, count in sorted(counts.gold.items())
            if count >= COMMON * counts.gold.total()
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
