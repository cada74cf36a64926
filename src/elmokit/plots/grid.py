"""Several pictures as one."""

from collections.abc import Sequence

from elmokit.errors import InputError
from elmokit.plots.style import Chart, altair, styled


def grid(charts: Sequence[Chart], *, columns: int, title: str = "") -> Chart:
    """Set charts beside and below each other; names with the same colours share one legend."""
    if not charts:
        raise InputError("charts: expected one or more, found none")
    alt = altair()
    bare = [chart.copy() for chart in charts]
    for chart in bare:
        chart.config = alt.Undefined  # altair takes one for the whole picture only
    together = alt.concat(*bare, columns=columns)
    together = together.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return styled(together, title=title)
