"""README and docs/tasks.md show the figures of tasks that were measured, rounded."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/tasks.json").read_text(encoding="utf-8"))
MAIN = [row for row in RESULTS if row["paper_base"] is not None]


def cells(file: str) -> list[list[str]]:
    """Give the rows of all tables of a page."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]


def rounded(row: dict[str, Any]) -> list[str]:
    means = [f"{row[name]:.1f}" for name in ("base_mean", "elmo_mean")]
    return [*means, f"{row['relative_error_reduction']:.1f}%"]


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: f"{row['task']}, {row['data']}")
def test_the_page_on_tasks_has_the_measured_figures(row: dict[str, Any]) -> None:
    # Data sets are named more fully there, so a row is known by its task and its figures.
    found = [line[2:5] for line in cells("docs/tasks.md") if line[0] == f"`{row['task']}`"]
    assert rounded(row) in found


def test_the_readme_has_the_measured_figures() -> None:
    table = {line[0]: line[1:] for line in cells("README.md")}
    assert [table[name] for name in ("without", "with ELMo", "errors fewer by")] == [
        list(column) for column in zip(*map(rounded, MAIN), strict=True)
    ]
