"""The paper's table from the records of runs: means, deviations, reduction of the error."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elmokit.tasks.datasets import PAPER, DataSet
from elmokit.tasks.figure_table import figure_markdown, figure_rows
from elmokit.tasks.plots import Curve, Panel
from elmokit.tasks.run_records import Record, figure, summary, whole_runs
from elmokit.tasks.study import BASE, ELMO, TUNED, Study


def relative_error_reduction(base: float, elmo: float) -> float | None:
    """Give the share of the base's errors that ELMo takes away, in per cent; None: it had none."""
    return 100 * (elmo - base) / (100 - base) if base < 100 else None


def table(
    data: Iterable[DataSet], records: Sequence[Record], *, elmo_variant: str = ELMO
) -> list[dict[str, Any]]:
    """Give a row for each data set that has runs with and without ELMo on all of its data.

    Beside data sets that are not the paper's, or do not stand for them, its figures are None.
    """
    rows = []
    for one in data:
        found = {
            variant: [figure(record, one) for record in whole_runs(one, variant, records)]
            for variant in (BASE, elmo_variant)
        }
        if not all(found.values()):
            continue
        (base, base_deviation), (elmo, elmo_deviation) = map(summary, found.values())
        paper = PAPER[one.task] if one.is_main else None
        metric = next(r["metric"] for r in records if r["task"] == one.task)
        rows.append(
            {
                "task": one.task,
                "data": one.name,
                "metric": metric,
                "base_mean": base,
                "base_std": base_deviation,
                "elmo_mean": elmo,
                "elmo_std": elmo_deviation,
                "seeds": min(map(len, found.values())),
                "relative_error_reduction": relative_error_reduction(base, elmo),
                "paper_relative_error_reduction": paper and paper.relative,
                "paper_base": paper and paper.base,
                "paper_elmo": paper and paper.elmo,
            }
        )
    return rows


def variant_rows(data: Iterable[DataSet], records: Sequence[Record]) -> list[dict[str, Any]]:
    """Give a row for each variant and share of each data set, with its mean mix weights."""
    rows = []
    for one in data:
        groups: dict[tuple[str, float], list[Record]] = {}
        for record in records:
            if record["task"] == one.task and record["data"] == one.name:
                groups.setdefault((record["variant"], record["share"]), []).append(record)
        for (variant, share), found in groups.items():
            mean, deviation = summary([figure(record, one) for record in found])
            rows.append(
                {
                    "task": one.task,
                    "data": one.name,
                    "metric": found[0]["metric"],
                    "variant": variant,
                    "share": share,
                    "mean": mean,
                    "std": deviation,
                    "seeds": len(found),
                    "mix_weights": _mean_weights(found),
                }
            )
    return rows


def sample_panels(rows: Iterable[dict[str, Any]]) -> dict[str, Panel]:
    """Give the rows of the study of samples as curves, of data sets that have both of them."""
    found: dict[tuple[str, str, str], dict[str, list[tuple[float, float, float]]]] = {}
    for row in rows:
        variants = found.setdefault((row["task"], row["data"], row["metric"]), {})
        variants.setdefault(row["variant"], []).append((row["share"], row["mean"], row["std"]))
    panels = {}
    for (task, data, metric), variants in found.items():
        if BASE in variants and ELMO in variants:
            base, elmo = (Curve(*np.array(sorted(variants[variant])).T) for variant in (BASE, ELMO))
            panels[f"{task}: {data}"] = Panel(metric, base, elmo)
    return panels


def study_report(
    study: Study, data: Sequence[DataSet], records: Sequence[Record]
) -> tuple[list[dict[str, Any]], str]:
    """Give the rows of a study and its table in Markdown."""
    if study in ("main", "tuned"):
        variant = TUNED if study == "tuned" else ELMO
        rows = table(data, records, elmo_variant=variant)
        parts = [markdown(rows), variant_markdown(variant_rows(data, records))]
        if figures := figure_rows(data, records, elmo_variant=variant):
            parts += ["Further figures, and further tests:\n", figure_markdown(figures)]
        return rows, "\n".join(parts)
    rows = variant_rows(data, records)
    return rows, variant_markdown(rows)


def variant_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows of variants as people read them."""
    lines = [
        "| task | data | variant | share | metric | mean | seeds | layer weights, scale |",
        "| --- |" + " --- |" * 7,
    ]
    for row in rows:
        weights = "; ".join(
            f"{place} " + ", ".join(f"{weight:.2f}" for weight in values)
            for place, values in row["mix_weights"].items()
        )
        lines.append(
            f"| {row['task']} | {row['data']} | {row['variant']} | {row['share']:.0%} "
            f"| {row['metric']} | {row['mean']:.2f} ± {row['std']:.2f} | {row['seeds']} "
            f"| {weights} |"
        )
    return "\n".join(lines) + "\n"


def _mean_weights(records: Sequence[Record]) -> dict[str, list[float]]:
    """Give the mean over runs of each mix's weights and scale."""
    places = records[0]["mix_weights"]
    return {
        place: [
            statistics.fmean(column)
            for column in zip(*(record["mix_weights"][place] for record in records), strict=True)
        ]
        for place in places
    }


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Write the table as people read it."""
    lines = [
        "| task | data | metric | base | + ELMo | difference | relative | paper: base | + ELMo "
        "| relative |",
        "| --- |" + " --- |" * 9,
    ]
    for row in rows:
        lines.append(
            f"| {row['task']} | {row['data']} | {row['metric']} "
            f"| {row['base_mean']:.2f} ± {row['base_std']:.2f} "
            f"| {row['elmo_mean']:.2f} ± {row['elmo_std']:.2f} "
            f"| {row['elmo_mean'] - row['base_mean']:+.2f} "
            f"| {_shown(row['relative_error_reduction'], '%')} "
            f"| {_shown(row['paper_base'])} | {_shown(row['paper_elmo'])} "
            f"| {_shown(row['paper_relative_error_reduction'], '%')} |"
        )
    if rows:
        seeds = sorted({row["seeds"] for row in rows})
        lines += ["", f"Mean ± standard deviation over {' or '.join(map(str, seeds))} seeds."]
    return "\n".join(lines) + "\n"


def _shown(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.1f}{unit}"
