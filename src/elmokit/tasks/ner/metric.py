"""Entity F1 as conlleval counts it, through seqeval."""

from collections.abc import Sequence

from elmokit.errors import MissingExtraError
from elmokit.tasks.blocks.bio import Span, tags_of


def entity_scores(
    lengths: Sequence[int], gold: Sequence[Sequence[Span]], found: Sequence[Sequence[Span]]
) -> dict[str, float]:
    """Give ``precision``, ``recall`` and ``f1`` over all entities and ``f1/LABEL``, in per cent."""
    try:
        from seqeval.metrics import classification_report
    except ImportError as error:
        raise MissingExtraError("seqeval", "tasks", "the score of named entities") from error
    expected, answered = (
        [tags_of(spans, length) for spans, length in zip(side, lengths, strict=True)]
        for side in (gold, found)
    )
    if not any(gold) and not any(found):
        return {"precision": 100.0, "recall": 100.0, "f1": 100.0}
    report = classification_report(expected, answered, output_dict=True, zero_division=0)
    labels = [name for name in report if not name.endswith(" avg")]
    total = report["micro avg"]
    return {
        "precision": 100 * float(total["precision"]),
        "recall": 100 * float(total["recall"]),
        "f1": 100 * float(total["f1-score"]),
        **{f"f1/{name}": 100 * float(report[name]["f1-score"]) for name in sorted(labels)},
    }
