"""What all pictures share: colours, shapes, letters, and how altair is found."""

from collections.abc import Iterable, Sequence
from typing import Any

from elmokit.errors import InputError, MissingExtraError

# Okabe and Ito's colours, which colour-blind people tell apart, ordered so that neighbours differ
# in lightness too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00")
# One fewer than the colours, so that a colour and a shape meet again only after 42 names. Printed
# in black, names still differ by their shapes.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4])
# A browser takes for each letter the first of these fonts that has it, Korean letters among them.
FONT = (
    "Helvetica, Arial, 'DejaVu Sans', 'Noto Sans CJK KR', 'Noto Sans KR', 'Apple SD Gothic Neo', "
    "'Malgun Gothic', NanumGothic, sans-serif"
)
LETTERS, SMALL_LETTERS, TITLE_LETTERS = 11, 10, 13
GRID, GREY, EDGE = "#dddddd", "#999999", "#333333"

Chart = Any
"""An altair chart; altair is an extra, so its types are not named here."""


def altair() -> Any:
    """Import altair, or say how to get it."""
    try:
        import altair as module
    except ImportError as error:
        raise MissingExtraError("altair", "viz", "a picture") from error
    return module


def inline(records: list[dict[str, Any]]) -> Any:
    """Give records as data of a chart; what stands in the chart itself has no limit of rows."""
    return altair().InlineData(values=records)


def distinct(names: Iterable[str]) -> list[str]:
    """Give each name once, in the order in which they come."""
    return list(dict.fromkeys(names))


def scale(names: Sequence[str], values: Sequence[Any]) -> Any:
    """Give each name a value, beginning again where the values are used up."""
    chosen = [values[place % len(values)] for place in range(len(names))]
    return altair().Scale(domain=list(names), range=chosen)


def styled(chart: Chart, *, title: str = "", subtitle: str = "") -> Chart:
    """Give a whole picture its title, and the letters and lines that all pictures have."""
    if title or subtitle:
        more = {"subtitle": subtitle} if subtitle else {}
        chart.title = altair().TitleParams(text=title, **more)
    return (
        chart.configure(font=FONT, background="white", padding=8)
        .configure_axis(
            labelFontSize=LETTERS,
            titleFontSize=LETTERS,
            titleFontWeight="normal",
            labelColor="black",
            titleColor="black",
            gridColor=GRID,
            labelLimit=400,
        )
        .configure_legend(
            labelFontSize=LETTERS,
            titleFontSize=LETTERS,
            titleFontWeight="normal",
            symbolSize=90,
            labelLimit=320,
        )
        .configure_header(labelFontSize=LETTERS, titleFontSize=LETTERS, labelLimit=320)
        .configure_title(
            fontSize=TITLE_LETTERS, subtitleFontSize=LETTERS, anchor="start", subtitleColor="black"
        )
        .configure_view(strokeWidth=0)
    )


def check_length(name: str, values: Sequence[Any], length: int, what: str) -> None:
    """Refuse a list that has not one entry for each thing that is drawn."""
    if len(values) != length:
        raise InputError(f"{name}: expected {length}, one for each {what}, found {len(values)}")
