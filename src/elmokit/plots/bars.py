"""Bars side by side, in groups.

G groups, S bars of a group
"""

import itertools
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.plots.style import (
    COLOURS,
    GREY,
    LETTERS,
    Chart,
    altair,
    check_length,
    distinct,
    inline,
    styled,
)

WIDTH, BAR_HEIGHT = 320, 20
# Where the longest bar ends, as a share of the width: its number is written behind it.
LONGEST = 0.86


def bars(
    values: npt.ArrayLike,
    *,
    groups: Sequence[str],
    names: Sequence[str],
    grey: Collection[str] = (),
    deviations: npt.ArrayLike | None = None,
    title: str = "",
    subtitle: str = "",
    value_title: str = "",
    value_format: str = ".1f",
) -> Chart:
    """Draw ``values`` (G, S), 0 or more, as lying bars with their numbers; nan leaves one out.

    Every bar has its name beside it, so the picture needs no colour. Bars whose names are in
    ``grey`` stand back behind the others. ``deviations`` (G, S) are drawn as thin lines across the
    ends.
    """
    alt = altair()
    table = np.asarray(values, dtype=np.float64)  # (G, S)
    if table.ndim != 2 or not table.size:
        raise InputError(f"values: expected the shape (G, S), found {table.shape}")
    if np.isinf(table).any() or np.isnan(table).all() or np.nanmin(table) < 0:
        raise InputError("values: expected numbers of 0 or more, or nan for some bars")
    check_length("groups", groups, table.shape[0], "group")
    check_length("names", names, table.shape[1], "bar of a group")
    for field, given in (("groups", groups), ("names", names)):
        if len(distinct(map(str, given))) < len(given):
            raise InputError(f"{field}: expected each name once, found {list(given)}")
    spread = np.zeros(table.shape) if deviations is None else np.asarray(deviations, np.float64)
    if spread.shape != table.shape:
        raise InputError(f"deviations: expected the shape {table.shape}, found {spread.shape}")
    records = [
        {
            "group": str(groups[group]),
            "name": str(names[bar]),
            "value": value,
            "deviation": spread[group, bar].item(),
            "low": value - spread[group, bar].item(),
            "high": value + spread[group, bar].item(),
        }
        for group, line in enumerate(table.tolist())
        for bar, value in enumerate(line)
        if not np.isnan(value)
    ]
    order = [str(name) for name in names]
    coloured = [name for name in order if name not in grey]
    colours = dict(zip(coloured, itertools.cycle(COLOURS), strict=False))
    longest = max(record["high"] for record in records) or 1.0
    fills = alt.Scale(domain=order, range=[colours.get(name, GREY) for name in order])
    across = alt.Scale(domain=[0, longest / LONGEST], nice=False)
    panels = []
    for group in map(str, groups):
        last = group == str(groups[-1])
        base = alt.Chart(inline([record for record in records if record["group"] == group])).encode(
            y=alt.Y("name:N", sort=order, title=None)
        )
        heading = {"title": (value_title or None) if last else None}
        drawn = base.mark_bar(height={"band": 0.8}).encode(
            x=alt.X(
                "value:Q",
                scale=across,
                axis=alt.Axis(tickCount=6, labels=last, grid=False),
                **heading,
            ),
            color=alt.Color("name:N", scale=fills, legend=None),
            tooltip=[
                alt.Tooltip("group:N"),
                alt.Tooltip("name:N"),
                alt.Tooltip("value:Q", title=value_title or "value"),
                alt.Tooltip("deviation:Q"),
            ],
        )
        numbers = base.mark_text(align="left", dx=5, fontSize=LETTERS).encode(
            x=alt.X("high:Q", **heading), text=alt.Text("value:Q", format=value_format)
        )
        ends = base.mark_errorbar(ticks={"size": 8}, color="black").encode(
            x=alt.X("low:Q", **heading), x2="high:Q"
        )
        layers = drawn + ends.transform_filter("datum.deviation > 0") if spread.any() else drawn
        panels.append(
            (layers + numbers).properties(
                width=WIDTH,
                height={"step": BAR_HEIGHT},
                title=alt.TitleParams(
                    text=group, fontSize=LETTERS, fontWeight="normal", frame="group", offset=4
                ),
            )
        )
    return styled(alt.vconcat(*panels, spacing=14), title=title, subtitle=subtitle)
