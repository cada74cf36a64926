"""Further figures and further tests of a data set, without and with ELMo: what one leaves out."""

from collections.abc import Iterable, Sequence
from typing import Any

from elmokit.tasks.datasets import DataSet
from elmokit.tasks.run_records import Record, summary, whole_runs
from elmokit.tasks.study import BASE, ELMO

# F1 speaks for the first two; the third is said of the data, not of a model.
LEFT_OUT = ("precision", "recall", "aligned")


def figure_rows(
    data: Iterable[DataSet], records: Sequence[Record], *, elmo_variant: str = ELMO
) -> list[dict[str, Any]]:
    """Give a row for each figure on each test, where there are runs with and without ELMo.

    Precision, recall, and figures of single labels and kinds of examples are left out.
    """
    rows = []
    for one in data:
        base, elmo = (whole_runs(one, variant, records) for variant in (BASE, elmo_variant))
        if not (base and elmo):
            continue
        for test in one.test_names:
            for figure in base[0]["figures"][test]:
                if "/" in figure or figure.endswith(LEFT_OUT):
                    continue
                row: dict[str, Any] = {"task": one.task, "data": one.name}
                row |= {"test": test, "figure": figure}
                for name, runs in (("base", base), ("elmo", elmo)):
                    values = [run["figures"][test][figure] for run in runs]
                    row[f"{name}_mean"], row[f"{name}_std"] = summary(values)
                rows.append(row)
    return rows


def figure_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Write the rows as people read them."""
    lines = ["| task | data | test | figure | base | + ELMo |", "| --- |" + " --- |" * 5]
    lines += [
        f"| {row['task']} | {row['data']} | {row['test']} | {row['figure']} "
        f"| {row['base_mean']:.2f} ± {row['base_std']:.2f} "
        f"| {row['elmo_mean']:.2f} ± {row['elmo_std']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"
