"""The plot of a study of samples; it takes arrays and knows nothing of tasks and runs.

S shares
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.plots import Line, check_suffix, grid, lines, save
from elmokit.plots.style import Chart

PANELS_IN_A_ROW = 3
PANEL_WIDTH, PANEL_HEIGHT = 170, 150

Array = npt.NDArray[np.float64]


class Curve(NamedTuple):
    """How good a model is by the share of the training data that it has seen."""

    shares: Array
    """(S,): above 0, up to 1."""
    means: Array
    """(S,): in per cent."""
    deviations: Array
    """(S,): the same over seeds."""


class Panel(NamedTuple):
    """What one task shows."""

    metric: str
    base: Curve
    elmo: Curve


def plot_samples(panels: Mapping[str, Panel], files: Sequence[Path]) -> None:
    """Draw a panel for each task, in the manner of the paper's figure 1, and save it.

    The keys are the panels' titles. A file is PNG, SVG or HTML, as its suffix says.
    """
    for file in files:
        check_suffix(file)
    chart = samples_chart(panels)
    for file in files:
        save(chart, file)


def samples_chart(panels: Mapping[str, Panel]) -> Chart:
    """Give the panels as one chart."""
    if not panels:
        raise InputError("panels: expected one or more, found none")
    charts = [_panel_chart(title, panel) for title, panel in panels.items()]
    return grid(charts, columns=min(PANELS_IN_A_ROW, len(charts)))


def _panel_chart(title: str, panel: Panel) -> Chart:
    curves = {"base": panel.base, "+ ELMo": panel.elmo}
    return lines(
        {
            name: Line(100 * curve.shares, curve.means, curve.deviations)
            for name, curve in curves.items()
        },
        title=title,
        x_title="% of the training data",
        y_title=f"{panel.metric}, %",
        logarithmic=True,
        ticks=np.unique(np.concatenate([100 * curve.shares for curve in curves.values()])).tolist(),
        width=PANEL_WIDTH,
        height=PANEL_HEIGHT,
    )
