"""Entity F1 as conlleval and seqeval count it."""

from collections.abc import Sequence

from elmokit.tasks.blocks.bio import Span
from elmokit.tasks.span_scores import span_counts


def entity_scores(
    gold: Sequence[Sequence[Span]], found: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Give ``precision``, ``recall`` and ``f1`` over all entities and ``f1/LABEL``, in per cent."""
    if not any(gold) and not any(found):
        return {"precision": 100.0, "recall": 100.0, "f1": 100.0}
    counts = span_counts([set(spans) for spans in gold], [set(spans) for spans in found])
    return {
        **counts.overall(),
        **{f"f1/{label}": counts.f1_of(label) for label in sorted({*counts.gold, *counts.found})},
    }
