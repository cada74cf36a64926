"""The table from records: figures worked by hand, what is left out, what is written."""

import json
from typing import Any

import numpy as np
import pytest

from elmokit.tasks.datasets import PAPER, DataSet, data_sets
from elmokit.tasks.names import TASK_NAMES
from elmokit.tasks.run_records import figure, summary
from elmokit.tasks.table import (
    markdown,
    relative_error_reduction,
    sample_panels,
    study_report,
    table,
    variant_rows,
)

NER = DataSet(
    task="ner", name="Small", train=("n/a.txt",), dev="n/d.txt", test=("n/t.txt", "u.txt")
)
SST = DataSet(task="sst", name="Trees", train=("s.txt",), dev="d.txt", test=("s.jsonl.xz#test",))

# What a row begins with, by name and in this order.
KEYS = [
    "task",
    "data",
    "metric",
    "base_mean",
    "base_std",
    "elmo_mean",
    "elmo_std",
    "seeds",
    "relative_error_reduction",
    "paper_relative_error_reduction",
]


def record(
    data: DataSet,
    variant: str,
    value: float,
    *,
    share: float = 1.0,
    weights: dict[str, list[float]] | None = None,
) -> dict[str, Any]:
    metric = "f1" if data.task == "ner" else "accuracy"
    names = [name.rpartition("/")[2] for name in (data.dev, *data.test)]
    # The first test's is the one that is shown.
    figures = {
        name: {metric: value - 7 * (place - 1), "recall": 1.0} for place, name in enumerate(names)
    }
    return {
        "task": data.task,
        "data": data.name,
        "variant": variant,
        "share": share,
        "metric": metric,
        "figures": figures,
        "mix_weights": weights or {},
    }


RECORDS = [
    record(NER, "base", 80.0),
    record(NER, "elmo", 90.0),
    record(NER, "base", 84.0),
    record(NER, "elmo", 91.0),
    record(NER, "base", 76.0),
    record(NER, "elmo", 89.0),
]


def test_the_figure_of_a_run_is_its_metric_on_the_first_test() -> None:
    found = record(NER, "base", 80.0)
    assert found["figures"]["d.txt"]["f1"] != 80.0 != found["figures"]["u.txt"]["f1"]
    assert figure(found, NER) == 80.0
    # A split belongs to the name of a file.
    assert figure(record(SST, "elmo", 51.5), SST) == 51.5


def test_mean_and_deviation_over_seeds() -> None:
    # Mean 80; squared distances 0, 16, 16, over two: 16.
    assert summary([80.0, 84.0, 76.0]) == pytest.approx((80.0, 4.0))
    assert summary([77.25]) == (77.25, 0.0)


@pytest.mark.parametrize(
    ("base", "elmo", "expected"),
    [
        (80.0, 90.0, 50.0),  # half of the 20 points of error are gone
        (90.0, 88.0, -20.0),
        (0.0, 25.0, 25.0),
        (60.0, 60.0, 0.0),
        (100.0, 100.0, None),
    ],
)
def test_relative_error_reduction(base: float, elmo: float, expected: float | None) -> None:
    assert relative_error_reduction(base, elmo) == expected


def test_the_paper_s_figures_agree_with_its_reductions() -> None:
    assert set(PAPER) == set(TASK_NAMES)
    for task, paper in PAPER.items():
        found = relative_error_reduction(paper.base, paper.elmo)
        assert found == pytest.approx(paper.relative, abs=0.1), task


def test_a_row_worked_by_hand() -> None:
    (row,) = table([NER], RECORDS)
    assert list(row)[: len(KEYS)] == KEYS
    assert row["task"] == "ner"
    assert row["data"] == "Small"
    assert row["metric"] == "f1"
    assert (row["base_mean"], row["base_std"]) == pytest.approx((80.0, 4.0))
    assert (row["elmo_mean"], row["elmo_std"]) == pytest.approx((90.0, 1.0))
    assert row["seeds"] == 3
    assert row["relative_error_reduction"] == pytest.approx(50.0)
    assert row["paper_relative_error_reduction"] == 21.0
    assert (row["paper_base"], row["paper_elmo"]) == (90.15, 92.22)
    assert json.loads(json.dumps(row)) == row


def test_seeds_are_those_that_both_variants_have() -> None:
    (row,) = table([NER], RECORDS[:3])
    assert row["seeds"] == 1
    assert (row["base_mean"], row["elmo_mean"]) == (82.0, 90.0)
    assert row["elmo_std"] == 0.0


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record(SST, "base", 40.0)],
        [record(SST, "elmo", 40.0)],
        [record(SST, "base", 40.0), record(SST, "elmo", 50.0, share=0.5)],
        [record(SST, "base", 40.0), record(SST, "top layer", 50.0)],
    ],
)
def test_rows_that_lack_a_variant_are_left_out(records: list[dict[str, Any]]) -> None:
    rows = table([SST, NER], [*records, *RECORDS])
    assert [row["task"] for row in rows] == ["ner"]
    assert rows[0]["metric"] == "f1"


def test_data_sets_of_one_task_are_kept_apart() -> None:
    other = DataSet(task="ner", name="Other", train=("o",), dev="o", test=("o.txt",))
    records = [*RECORDS, record(other, "base", 10.0), record(other, "elmo", 20.0)]
    rows = table([other, NER], records)
    assert [(row["data"], row["base_mean"]) for row in rows] == [("Other", 10.0), ("Small", 80.0)]


def test_the_paper_s_figures_stand_beside_its_own_data_alone() -> None:
    other = DataSet(task="ner", name="Other", train=("o",), dev="o", test=("o.txt",), is_main=False)
    rows = table([other], [record(other, "base", 10.0), record(other, "elmo", 20.0)])
    (row,) = rows
    assert row["paper_relative_error_reduction"] is None
    assert (row["paper_base"], row["paper_elmo"]) == (None, None)
    assert markdown(rows).splitlines()[2].endswith("| +10.00 | 11.1% |  |  |  |")


def test_the_main_table_in_markdown() -> None:
    rows, report = study_report("main", [NER, SST], RECORDS)
    assert [row["task"] for row in rows] == ["ner"]
    lines = report.splitlines()
    assert lines[0].startswith("| task | data | metric | base | + ELMo | difference | relative |")
    assert lines[2] == (
        "| ner | Small | f1 | 80.00 ± 4.00 | 90.00 ± 1.00 | +10.00 | 50.0% | 90.2 | 92.2 | 21.0% |"
    )
    assert lines[4] == "Mean ± standard deviation over 3 seeds."
    # All rows of a table are as wide as its head.
    widths = [line.count("|") for line in lines if line.startswith("|")]
    assert widths == [11, 11, 11, 9, 9, 9, 9, 7, 7, 7, 7]
    assert "| ner | Small | base | 100% | f1 | 80.00 ± 4.00 | 3 |  |" in lines


def test_markdown_where_the_base_made_no_error() -> None:
    perfect = [record(NER, "base", 100.0), record(NER, "elmo", 100.0)]
    rows, report = study_report("main", [NER], perfect)
    assert rows[0]["relative_error_reduction"] is None
    assert "| 100.00 ± 0.00 | 100.00 ± 0.00 | +0.00 |  | 90.2 |" in report


def test_numbers_of_seeds_that_differ_are_all_named() -> None:
    rows, _ = study_report("main", [NER], RECORDS)
    assert "over 3 or 5 seeds." in markdown([{**rows[0], "seeds": 5}, *rows])


def test_markdown_without_rows_has_no_seeds() -> None:
    assert markdown([]).count("\n") == 2
    assert "seeds" not in markdown([])


def test_a_row_for_each_variant_and_share_with_mean_weights() -> None:
    records = [
        record(NER, "elmo", 60.0, share=0.1, weights={"input": [0.2, 0.8, 1.0]}),
        record(NER, "elmo", 70.0, share=0.1, weights={"input": [0.4, 0.6, 2.0]}),
        record(NER, "base", 50.0, share=0.1),
        record(NER, "elmo", 90.0, weights={"input": [0.5, 0.5, 1.0]}),
    ]
    rows = variant_rows([SST, NER], records)
    assert [(row["variant"], row["share"], row["seeds"]) for row in rows] == [
        ("elmo", 0.1, 2),
        ("base", 0.1, 1),
        ("elmo", 1.0, 1),
    ]
    assert rows[0]["mean"] == 65.0
    assert rows[0]["std"] == pytest.approx(50**0.5)
    assert rows[0]["mix_weights"]["input"] == pytest.approx([0.3, 0.7, 1.5])
    assert rows[1]["mix_weights"] == {}
    _, report = study_report("samples", [NER], records)
    shown = "| ner | Small | elmo | 10% | f1 | 65.00 ± 7.07 | 2 | input 0.30, 0.70, 1.50 |"
    assert report.splitlines()[2] == shown


def test_the_study_of_layers_has_its_variants() -> None:
    records = [record(NER, "top layer", 60.0), record(NER, "at both", 61.0)]
    rows, report = study_report("layers", [NER], records)
    assert [row["variant"] for row in rows] == ["top layer", "at both"]
    assert "| at both |" in report


def test_panels_have_both_curves_in_order_of_the_shares() -> None:
    records = [
        record(NER, variant, value, share=share)
        for variant, share, value in [
            ("elmo", 1.0, 90.0),
            ("base", 1.0, 80.0),
            ("elmo", 0.01, 40.0),
            ("elmo", 0.01, 42.0),
            ("base", 0.01, 20.0),
        ]
    ]
    records += [record(SST, "base", 30.0)]
    panels = sample_panels(variant_rows([SST, NER], records))
    assert list(panels) == ["ner: Small"], "what lacks a curve has no panel"
    panel = panels["ner: Small"]
    assert panel.metric == "f1"
    np.testing.assert_allclose(panel.elmo.shares, [0.01, 1.0])
    np.testing.assert_allclose(panel.elmo.means, [41.0, 90.0])
    np.testing.assert_allclose(panel.elmo.deviations, [2**0.5, 0.0])
    np.testing.assert_allclose(panel.base.means, [20.0, 80.0])


def test_data_sets_are_chosen_by_name() -> None:
    main = data_sets([])
    assert sorted(one.task for one in main) == sorted(TASK_NAMES)
    assert data_sets(["ner"]) == [one for one in main if one.task == "ner"]
    (other,) = data_sets(["ner/WNUT-17"])
    assert not other.is_main
    assert [one.task for one in data_sets(["sst", "coref"])] == ["sst", "coref"]
    everything = data_sets(["all"])
    assert len(everything) > len(main)
    assert len({(one.task, one.name) for one in everything}) == len(everything)
