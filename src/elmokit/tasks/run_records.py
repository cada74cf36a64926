"""What finished runs left behind, and what it comes to over seeds."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from elmokit.tasks.datasets import DataSet

Record = dict[str, Any]


def figure(record: Record, data: DataSet) -> float:
    """Give the figure of a run that the table shows: the deciding metric on the first test."""
    value: float = record["figures"][data.test_names[0]][record["metric"]]
    return value


def summary(values: Sequence[float]) -> tuple[float, float]:
    """Give mean and standard deviation over seeds; 0 where there is one alone."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def whole_runs(data: DataSet, variant: str, records: Iterable[Record]) -> list[Record]:
    """Choose the runs of a variant on all of a data set."""
    return [
        record
        for record in records
        if record["task"] == data.task
        and record["data"] == data.name
        and record["variant"] == variant
        and record["share"] == 1.0
    ]
