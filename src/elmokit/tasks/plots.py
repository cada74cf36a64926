"""Plots of studies; they take arrays and know nothing of tasks and runs.

S shares
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError, MissingExtraError
from elmokit.files import replacing_file

SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 200
PANELS_IN_A_ROW = 3
PANEL_INCHES = (2.5, 2.3)
# Room at the right for the names of the lines, as a multiple of the largest share.
ROOM_FOR_NAMES = 5.0
# One size for print and screen; letters of an SVG stay letters; the same plot is the same file.
STYLE: Any = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "elmokit",
}
# Two of Okabe and Ito's colours, which colour-blind people tell apart. Printed in black the lines
# still differ by their dashes and markers.
LINES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("base", {"color": "#D55E00", "linestyle": "--", "marker": "s", "markerfacecolor": "white"}),
    ("+ ELMo", {"color": "#0072B2", "linestyle": "-", "marker": "o"}),
)

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

    The keys are the panels' titles. A file is PNG or SVG, as its suffix says.
    """
    if not panels:
        raise InputError("panels: expected one or more, found none")
    for file in files:
        if file.suffix not in SUFFIXES:
            raise InputError(f"{file}: expected a name that ends in {' or '.join(SUFFIXES)}")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "viz", "a plot") from error
    columns = min(PANELS_IN_A_ROW, len(panels))
    rows = -(-len(panels) // columns)
    width, height = PANEL_INCHES
    with rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).flatten()
        for place, (title, panel) in zip(axes, panels.items(), strict=False):
            _draw(place, title, panel)
        for place in axes[len(panels) :]:
            place.set_axis_off()
        for file in files:
            kind = file.suffix.removeprefix(".")
            with replacing_file(file) as beside:
                # Without a date an SVG is the same whenever it is drawn.
                metadata = {"Date": None} if kind == "svg" else None
                figure.savefig(beside, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)


def _draw(axes: Any, title: str, panel: Panel) -> None:
    curves = (panel.base, panel.elmo)
    for (_, style), curve in zip(LINES, curves, strict=True):
        axes.errorbar(
            curve.shares,
            curve.means,
            yerr=curve.deviations,
            linewidth=1.3,
            markersize=4,
            capsize=2,
            elinewidth=0.8,
            **style,
        )
    _name_lines(axes, curves)
    shares = np.unique(np.concatenate([curve.shares for curve in curves]))
    axes.set_xscale("log")
    axes.set_xlim(shares[0] / 1.3, shares[-1] * ROOM_FOR_NAMES)
    axes.set_xticks(shares, [f"{100 * share:g}" for share in shares])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("% of the training data")
    axes.set_ylabel(f"{panel.metric}, %")
    axes.set_title(title, fontsize="medium")
    axes.grid(axis="y", linewidth=0.4, color="0.85")
    axes.set_axisbelow(True)


def _name_lines(axes: Any, curves: Sequence[Curve]) -> None:
    """Write each line's name at its right end, the higher one's higher."""
    base, elmo = (curve.means[-1] for curve in curves)
    offset = 4 if base > elmo else -4
    for (name, style), curve, height in zip(LINES, curves, (offset, -offset), strict=True):
        axes.annotate(
            name,
            (curve.shares[-1], curve.means[-1]),
            xytext=(6, height),
            textcoords="offset points",
            verticalalignment="center",
            color=style["color"],
        )
