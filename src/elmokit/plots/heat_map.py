"""A table of numbers as shades, with the numbers in them.

R rows, C columns
"""

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.plots.style import LETTERS, Chart, altair, check_length, inline, styled

# Dark blue to yellow, growing lighter all the way: the same order for colour-blind eyes and in
# black-and-white print.
SHADES = "cividis"
CELL_WIDTH, CELL_HEIGHT = 64, 30


def heat_map(
    values: npt.ArrayLike,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    subtitle: str = "",
    row_title: str = "",
    column_title: str = "",
    value_title: str = "",
    value_format: str = ".2f",
    limits: tuple[float, float] | None = None,
) -> Chart:
    """Draw ``values`` (R, C), where nan leaves a cell empty.

    Names may come twice (words of a sentence). ``limits`` are the values of the darkest and the
    lightest shade; without them, the smallest and the largest value are.
    """
    alt = altair()
    table = np.asarray(values, dtype=np.float64)  # (R, C)
    if table.ndim != 2 or not table.size:
        raise InputError(f"values: expected the shape (R, C), found {table.shape}")
    if np.isinf(table).any() or np.isnan(table).all():
        raise InputError("values: expected finite numbers, or nan for some cells")
    check_length("rows", rows, table.shape[0], "row")
    check_length("columns", columns, table.shape[1], "column")
    low, high = limits or (float(np.nanmin(table)), float(np.nanmax(table)))
    if low > high:
        raise InputError(f"limits: expected the smaller one first, found {low} and {high}")
    records = [
        {
            "row": row,
            "column": column,
            "value": value,
            "name": f"{rows[row]}, {columns[column]}",
        }
        for row, line in enumerate(table.tolist())
        for column, value in enumerate(line)
        if not np.isnan(value)
    ]
    y, x = (
        axis(
            f"{field}:O",
            scale=alt.Scale(domain=list(range(len(names)))),
            axis=alt.Axis(
                title=heading or None,
                labelExpr=f"{json.dumps(list(map(str, names)))}[datum.value]",
                labelOverlap=False,
                ticks=False,
                domain=False,
                **place,
            ),
        )
        for axis, field, names, heading, place in (
            (alt.Y, "row", rows, row_title, {}),
            (alt.X, "column", columns, column_title, {"labelAngle": 0, "orient": "top"}),
        )
    )
    shades = alt.Color(
        "value:Q",
        scale=alt.Scale(scheme=SHADES, domain=[low, high]),
        legend=alt.Legend(title=value_title or None, format=value_format),
    )
    base = alt.Chart(inline(records)).encode(x=x, y=y)
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=shades,
        tooltip=[
            alt.Tooltip("name:N", title="cell"),
            alt.Tooltip("value:Q", title=value_title or "value"),
        ],
    )
    numbers = base.mark_text(fontSize=LETTERS).encode(
        text=alt.Text("value:Q", format=value_format),
        color=alt.condition(
            f"datum.value < {(low + high) / 2}", alt.value("white"), alt.value("black")
        ),
    )
    chart = (cells + numbers).properties(
        width=CELL_WIDTH * table.shape[1],
        height=CELL_HEIGHT * table.shape[0],
    )
    return styled(chart, title=title, subtitle=subtitle)
