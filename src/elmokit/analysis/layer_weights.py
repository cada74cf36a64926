"""How tasks weigh the layers of a biLM (the paper's figure 2), read from what trainings left.

R rows of the picture, C layers
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmokit.analysis.mix_files import read_mixes
from elmokit.errors import InputError
from elmokit.plots import heat_map
from elmokit.plots.style import Chart

# What lies in the folder of a run or a table and says the same as the folder.
IN_A_RUN = ("model", "runs.jsonl")


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """The mix of a task at one place, over one run or several."""

    name: str
    """The task, and its data and variant where a table of runs says them."""
    place: str
    """``input`` or ``output`` of the task's model."""
    layers: tuple[str, ...]
    """What each weight belongs to, as ``layer 1``."""
    weights: tuple[float, ...]
    """After the softmax, so that they add up to 1; means over runs."""
    deviations: tuple[float, ...]
    """Standard deviations over runs; 0 where there is one alone."""
    scale: float
    """The paper's gamma, which the mix is multiplied by."""
    scale_deviation: float
    runs: int


def layer_weights(sources: Sequence[str | Path], *, every: bool = False) -> list[LayerWeights]:
    """Read the mixes of runs and average those of the same task and place.

    A source is a folder of ``elmo task train``, the model folder in it, a ``runs.jsonl`` of
    ``elmo task table`` or its folder, or a task's name, for the model in the box.
    Of a table the usual runs on all data are taken, with ``every`` also all others.
    """
    if not sources:
        raise InputError("runs: expected one or more, found none")
    groups: dict[tuple[str, str, tuple[str, ...]], list[tuple[float, ...]]] = {}
    seen: set[Path] = set()
    for source in sources:
        path = Path(source).resolve()
        run = path.parent if path.name in IN_A_RUN else path
        if run in seen:
            raise InputError(f"runs: {source} is given twice, which would count it twice")
        seen.add(run)
        for mix in read_mixes(source, every=every):
            groups.setdefault((mix.name, mix.place, mix.layers), []).append(mix.values)
    rows = []
    for (name, place, layers), found in groups.items():
        columns = list(zip(*found, strict=True))
        means = [statistics.fmean(column) for column in columns]
        deviations = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
        rows.append(
            LayerWeights(
                name=name,
                place=place,
                layers=layers,
                weights=tuple(means[:-1]),
                deviations=tuple(deviations[:-1]),
                scale=means[-1],
                scale_deviation=deviations[-1],
                runs=len(found),
            )
        )
    return rows


def layer_weights_chart(rows: Sequence[LayerWeights]) -> Chart:
    """Draw a row for each mix and a column for each layer."""
    columns = columns_of(rows)
    values = np.full((len(rows), len(columns)), np.nan)  # (R, C)
    for line, row in zip(values, rows, strict=True):
        for layer, weight in zip(row.layers, row.weights, strict=True):
            line[columns.index(layer)] = weight
    return heat_map(
        values,
        rows=[f"{row.name}, {row.place}" for row in rows],
        columns=columns,
        title="How tasks weigh the layers",
        value_title="weight",
    )


def columns_of(rows: Iterable[LayerWeights]) -> list[str]:
    """Name all layers that some row has, each once."""
    found = {layer for row in rows for layer in row.layers}
    return sorted(found, key=lambda layer: (int(layer.split()[1]), layer))
