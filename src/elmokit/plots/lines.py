"""Lines with deviations.

S places on a line
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.plots.style import (
    COLOURS,
    DASHES,
    SHAPES,
    Chart,
    altair,
    check_length,
    inline,
    scale,
    styled,
)

WIDTH, HEIGHT = 320, 240


class Line(NamedTuple):
    """What one line goes through."""

    x: npt.ArrayLike
    """(S,)"""
    y: npt.ArrayLike
    """(S,)"""
    deviations: npt.ArrayLike | None = None
    """(S,): drawn as bars above and below; None: no bars."""


def lines(
    named: Mapping[str, Line],
    *,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    logarithmic: bool = False,
    ticks: Sequence[float] | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Draw each line with its own colour, dashes and markers.

    ``logarithmic`` is about x. ``ticks`` are the places on the x axis that have numbers.
    """
    alt = altair()
    if not named:
        raise InputError("named: expected one or more lines, found none")
    records = [record for name, line in named.items() for record in _records(name, line)]
    if logarithmic and min(record["x"] for record in records) <= 0:
        raise InputError("x: a logarithmic axis expects numbers above 0")
    names, kind = list(named), "log" if logarithmic else "linear"
    legend = alt.Legend(
        title=None, orient="bottom", symbolSize=110, symbolOpacity=1, symbolStrokeWidth=0
    )
    x = alt.X(
        "x:Q",
        title=x_title or None,
        scale=alt.Scale(type=kind, zero=False, nice=False, padding=16),
        axis=alt.Axis(
            values=alt.Undefined if ticks is None else [float(tick) for tick in ticks],
            format="~f",
            grid=False,
            labelOverlap=ticks is None,
        ),
    )
    # One title for all layers, or altair writes those of the error bars beside it.
    heading = {"title": y_title or None}
    colour = alt.Color("name:N", scale=scale(names, COLOURS), legend=legend)
    base = alt.Chart(inline(records)).encode(x=x, color=colour)
    drawn = base.mark_line(strokeWidth=1.8).encode(
        y=alt.Y("y:Q", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6), **heading),
        strokeDash=alt.StrokeDash("name:N", scale=scale(names, DASHES), legend=None),
    )
    markers = base.mark_point(size=42, filled=True, opacity=1).encode(
        y=alt.Y("y:Q", **heading),
        shape=alt.Shape("name:N", scale=scale(names, SHAPES), legend=legend),
        tooltip=[
            alt.Tooltip("name:N", title="line"),
            alt.Tooltip("x:Q", title=x_title or "x"),
            alt.Tooltip("y:Q", title=y_title or "y"),
            alt.Tooltip("deviation:Q", title="deviation"),
        ],
    )
    chart = drawn + markers
    if any(record["deviation"] for record in records):
        bars = base.mark_errorbar(ticks={"size": 6}, thickness=1).encode(
            y=alt.Y("low:Q", **heading), y2="high:Q"
        )
        chart = drawn + bars.transform_filter("datum.deviation > 0") + markers
    chart = chart.properties(width=width, height=height)
    return styled(chart, title=title, subtitle=subtitle)


def _records(name: str, line: Line) -> list[dict[str, Any]]:
    x, y = (np.asarray(values, dtype=np.float64) for values in (line.x, line.y))  # (S,)
    if x.ndim != 1 or not len(x):
        raise InputError(f"{name}: x: expected the shape (S,), found {x.shape}")
    deviations = np.zeros(len(x)) if line.deviations is None else np.asarray(line.deviations)
    check_length(f"{name}: y", y.tolist(), len(x), "x")
    check_length(f"{name}: deviations", deviations.tolist(), len(x), "x")
    if not all(np.isfinite(values).all() for values in (x, y, deviations)):
        raise InputError(f"{name}: expected finite numbers, found nan or infinity")
    return [
        {"name": name, "x": a, "y": b, "deviation": c, "low": b - c, "high": b + c}
        for a, b, c in zip(x.tolist(), y.tolist(), deviations.tolist(), strict=True)
    ]
