"""Pairs of texts, and whether the second follows from the first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError
from elmokit.tasks.classification import label_field
from elmokit.text.records import read_records, string_field, words_field

# SNLI's own files: where their annotators did not agree on a label it is "-".
_OWN_KEYS = ("sentence1", "sentence2", "gold_label")
_NO_LABEL = "-"


@dataclass(frozen=True)
class SnliExample:
    """Two texts and the relation between them."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str | None = None
    """None where it is asked for."""
    kind: str | None = None
    """What sort of pair it is, in data that say it."""


def read_examples(file: Path) -> list[SnliExample]:
    """Read records: JSON objects with ``premise``, ``hypothesis``, ``label``, some with ``kind``.

    The two texts are strings, which are tokenised, or lists of tokens. The keys of SNLI's own
    files, ``sentence1``, ``sentence2`` and ``gold_label``, are understood too.
    """
    examples = [
        _example(file, number, record)
        for number, record in read_records(file)
        if record.get("gold_label") != _NO_LABEL
    ]
    if not examples:
        raise FormatError(file, "holds no examples")
    return examples


def _example(file: Path, number: int, record: dict[str, Any]) -> SnliExample:
    if "premise" not in record and "sentence1" in record:
        premise, hypothesis, label = _OWN_KEYS
    else:
        premise, hypothesis, label = "premise", "hypothesis", "label"
    return SnliExample(
        premise=words_field(file, number, record, premise),
        hypothesis=words_field(file, number, record, hypothesis),
        label=label_field(file, number, record, label),
        kind=string_field(file, number, record, "kind") if "kind" in record else None,
    )
