"""Further figures and tests: which are shown, and their means."""

from typing import Any

import pytest

from elmokit.tasks.datasets import DataSet
from elmokit.tasks.figure_table import figure_markdown, figure_rows

SQUAD = DataSet(
    task="squad", name="Small", train=("a",), dev="d", test=("q/own.jsonl#test", "q/other.jsonl")
)


def record(variant: str, value: float, *, share: float = 1.0) -> dict[str, Any]:
    shown = {"f1": value, "exact_match": value - 10}
    beside = {"precision": 1.0, "muc_recall": 1.0, "aligned": 99.0, "f1/why": 1.0}
    other = {name: figure / 2 for name, figure in shown.items()}
    return {
        "task": "squad",
        "data": "Small",
        "variant": variant,
        "share": share,
        "figures": {"d": shown, "own.jsonl#test": shown | beside, "other.jsonl": other},
    }


RECORDS = [
    record("base", 60.0),
    record("base", 64.0),
    record("base", 5.0, share=0.1),
    record("elmo", 70.0),
    record("top layer", 1.0),
]


def test_each_figure_on_each_test_has_a_row() -> None:
    rows = figure_rows([SQUAD], RECORDS)
    assert [(row["test"], row["figure"]) for row in rows] == [
        ("own.jsonl#test", "f1"),
        ("own.jsonl#test", "exact_match"),
        ("other.jsonl", "f1"),
        ("other.jsonl", "exact_match"),
    ]
    # 60 and 64: the mean is 62, the squared distances are 4 and 4, over one: 8.
    assert (rows[0]["base_mean"], rows[0]["base_std"]) == pytest.approx((62.0, 8**0.5))
    assert (rows[0]["elmo_mean"], rows[0]["elmo_std"]) == (70.0, 0.0)
    assert (rows[3]["base_mean"], rows[3]["elmo_mean"]) == (26.0, 30.0)


def test_the_variant_with_elmo_can_be_chosen() -> None:
    (row, *_) = figure_rows([SQUAD], RECORDS, elmo_variant="top layer")
    assert row["elmo_mean"] == 1.0


def test_data_that_lack_a_variant_have_no_rows() -> None:
    assert figure_rows([SQUAD], RECORDS[:3]) == []
    assert figure_rows([SQUAD], []) == []


def test_rows_in_markdown() -> None:
    lines = figure_markdown(figure_rows([SQUAD], RECORDS)).splitlines()
    assert lines[0] == "| task | data | test | figure | base | + ELMo |"
    assert lines[2] == "| squad | Small | own.jsonl#test | f1 | 62.00 ± 2.83 | 70.00 ± 0.00 |"
    assert {line.count("|") for line in lines} == {7}
