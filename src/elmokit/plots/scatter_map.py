"""A map of points in two dimensions.

N points
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.plots.style import (
    COLOURS,
    EDGE,
    LETTERS,
    SHAPES,
    Chart,
    altair,
    check_length,
    distinct,
    inline,
    scale,
    styled,
)

WIDTH, HEIGHT = 460, 360


def scatter_map(
    points: npt.ArrayLike,
    *,
    groups: Sequence[str],
    texts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    title: str = "",
    subtitle: str = "",
    group_title: str = "",
) -> Chart:
    """Draw ``points`` (N, 2), each group with its own colour and shape.

    ``texts`` (N,) are shown where the mouse stands on a point of an HTML file; ``labels`` (N,) are
    written beside their points, where they are not empty. The groups stand in the legend in the
    order in which they come.
    """
    alt = altair()
    places = np.asarray(points, dtype=np.float64)  # (N, 2)
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise InputError(f"points: expected the shape (N, 2), found {places.shape}")
    if not np.isfinite(places).all():
        raise InputError("points: expected finite numbers, found nan or infinity")
    check_length("groups", groups, len(places), "point")
    texts = [""] * len(places) if texts is None else texts
    labels = [""] * len(places) if labels is None else labels
    check_length("texts", texts, len(places), "point")
    check_length("labels", labels, len(places), "point")
    records = [
        {"x": x, "y": y, "group": str(group), "text": str(text), "label": str(label)}
        for (x, y), group, text, label in zip(places.tolist(), groups, texts, labels, strict=True)
    ]
    names = distinct(record["group"] for record in records)
    # The axes of such maps mean nothing; that they have no numbers says so.
    where = {
        axis: alt.Axis(labels=False, ticks=False, title=None, grid=False, domainColor=EDGE)
        for axis in ("x", "y")
    }
    base = alt.Chart(inline(records)).encode(
        x=alt.X("x:Q", axis=where["x"], scale=alt.Scale(zero=False, padding=14)),
        y=alt.Y("y:Q", axis=where["y"], scale=alt.Scale(zero=False, padding=14)),
    )
    legend = alt.Legend(
        title=group_title or None,
        orient="bottom",
        columns=1,
        labelLimit=WIDTH,
        titleLimit=WIDTH,
    )
    marks = base.mark_point(
        filled=True, size=70, opacity=0.85, stroke=EDGE, strokeWidth=0.5
    ).encode(
        color=alt.Color("group:N", scale=scale(names, COLOURS), legend=legend),
        shape=alt.Shape("group:N", scale=scale(names, SHAPES), legend=legend),
        tooltip=[
            alt.Tooltip("text:N", title="text"),
            alt.Tooltip("group:N", title=group_title or "group"),
        ],
    )
    chart = marks
    if any(labels):
        place = {"align": "left", "dx": 7, "dy": -8, "fontSize": LETTERS}
        named = base.encode(text="label:N").transform_filter("datum.label !== ''")
        # A white rim, so that labels can be read where they lie on points.
        rims = named.mark_text(**place, stroke="white", strokeWidth=3, opacity=0.8)
        chart = marks + rims + named.mark_text(**place)
    chart = chart.properties(width=WIDTH, height=HEIGHT).interactive()
    return styled(chart, title=title, subtitle=subtitle)
