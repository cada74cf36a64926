"""Charts by their data: what is drawn where, and what bad arrays give."""

from typing import Any

import numpy as np
import pytest

from elmokit.errors import InputError
from elmokit.plots import Line, bars, grid, heat_map, lines, scatter_map
from elmokit.plots.style import COLOURS, GREY, SHAPES


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """Give the records of all data sets that a chart holds, each once."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def channels(chart: Any, name: str) -> list[Any]:
    """Give what the layers of a chart say about a channel."""
    layers = chart.to_dict().get("layer", [chart.to_dict()])
    return [layer["encoding"][name] for layer in layers if name in layer["encoding"]]


def test_a_map_holds_points_groups_texts_and_labels() -> None:
    chart = scatter_map(
        np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]),
        groups=["강", "은행", "강"],
        texts=["강둑에 앉았다", "돈을 찾았다", "강가"],
        labels=["", "은행", ""],
        title="뱅크",
        group_title="뜻",
    )
    assert rows_of(chart) == [
        {"x": 0.0, "y": 1.0, "group": "강", "text": "강둑에 앉았다", "label": ""},
        {"x": 2.0, "y": 3.0, "group": "은행", "text": "돈을 찾았다", "label": "은행"},
        {"x": 4.0, "y": 5.0, "group": "강", "text": "강가", "label": ""},
    ]
    assert chart.to_dict()["title"]["text"] == "뱅크"
    (colour,), (shape,) = channels(chart, "color"), channels(chart, "shape")
    assert colour["scale"] == {"domain": ["강", "은행"], "range": list(COLOURS[:2])}
    assert shape["scale"] == {"domain": ["강", "은행"], "range": list(SHAPES[:2])}
    assert colour["legend"]["title"] == "뜻"
    (tooltip,) = channels(chart, "tooltip")
    assert [entry["field"] for entry in tooltip] == ["text", "group"]


def test_many_groups_differ_by_colour_or_shape() -> None:
    names = [f"cluster {number}" for number in range(42)]
    chart = scatter_map(np.zeros((42, 2)), groups=names)
    (colour,), (shape,) = channels(chart, "color"), channels(chart, "shape")
    pairs = set(zip(colour["scale"]["range"], shape["scale"]["range"], strict=True))
    assert len(pairs) == 42


def test_a_map_without_labels_writes_none() -> None:
    assert not channels(scatter_map([[0, 0]], groups=["a"]), "text")


def test_more_points_than_altair_takes_of_itself() -> None:
    chart = scatter_map(np.arange(12_002).reshape(-1, 2), groups=["all"] * 6_001)
    assert len(rows_of(chart)) == 6_001


def test_a_heat_map_leaves_cells_without_a_number_out() -> None:
    chart = heat_map(
        [[0.25, np.nan], [0.5, 1.0]],
        rows=["the", "the"],
        columns=["층 0", "층 1"],
        value_format=".3f",
    )
    found = {(row["row"], row["column"]): row["value"] for row in rows_of(chart)}
    assert found == {(0, 0): 0.25, (1, 0): 0.5, (1, 1): 1.0}
    (vertical, _), (across, _) = channels(chart, "y"), channels(chart, "x")
    # A name that comes twice has two rows.
    assert vertical["scale"]["domain"] == [0, 1]
    assert vertical["axis"]["labelExpr"] == '["the", "the"][datum.value]'
    assert "\\uce35 0" in across["axis"]["labelExpr"] or "층 0" in across["axis"]["labelExpr"]
    shades, letters = channels(chart, "color")
    assert shades["scale"] == {"scheme": "cividis", "domain": [0.25, 1.0]}
    # White letters on the dark half, black ones on the light half.
    assert letters["condition"] == {"test": "datum.value < 0.625", "value": "white"}
    assert letters["value"] == "black"
    assert channels(chart, "text")[0]["format"] == ".3f"


def test_shades_reach_from_limit_to_limit() -> None:
    chart = heat_map([[0.2]], rows=["a"], columns=["b"], limits=(0.0, 1.0))
    assert channels(chart, "color")[0]["scale"]["domain"] == [0.0, 1.0]


def test_lines_hold_points_and_deviations() -> None:
    chart = lines(
        {"base": Line([1, 10], [40.0, 60.0], [0.0, 1.5]), "ELMo": Line([1, 10], [50.0, 70.0])},
        logarithmic=True,
        ticks=[1, 10],
        y_title="f1, %",
    )
    found = [(r["name"], r["x"], r["y"], r["low"], r["high"]) for r in rows_of(chart)]
    assert found == [
        ("base", 1.0, 40.0, 40.0, 40.0),
        ("base", 10.0, 60.0, 58.5, 61.5),
        ("ELMo", 1.0, 50.0, 50.0, 50.0),
        ("ELMo", 10.0, 70.0, 70.0, 70.0),
    ]
    # All layers say the same title, or "low" would stand beside it.
    assert {entry["title"] for entry in channels(chart, "y")} == {"f1, %"}
    x = channels(chart, "x")[0]
    assert x["scale"]["type"] == "log"
    assert x["axis"]["values"] == [1.0, 10.0]
    (dashes,) = channels(chart, "strokeDash")
    assert dashes["scale"]["range"][0] != dashes["scale"]["range"][1]


def test_lines_without_deviations_have_no_error_bars() -> None:
    chart = lines({"a": Line([0, 1], [0, 1])})
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["line", "point"]


def test_bars_hold_values_in_the_order_given() -> None:
    chart = bars(
        [[88.9, 95.5], [39.0, np.nan]],
        groups=["품사", "뜻"],
        names=["layer 1", "layer 0"],
        deviations=[[0.0, 0.5], [1.0, 0.0]],
    )
    found = [(r["group"], r["name"], r["low"], r["value"], r["high"]) for r in rows_of(chart)]
    assert sorted(found) == sorted(
        [
            ("품사", "layer 1", 88.9, 88.9, 88.9),
            ("품사", "layer 0", 95.0, 95.5, 96.0),
            ("뜻", "layer 1", 38.0, 39.0, 40.0),
        ]
    )
    panels = chart.to_dict()["vconcat"]
    assert [panel["title"]["text"] for panel in panels] == ["품사", "뜻"]
    for panel in panels:
        assert panel["layer"][0]["encoding"]["y"]["sort"] == ["layer 1", "layer 0"]
        low, high = panel["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert low == 0, "bars that do not begin at 0 lie"
        assert high > 96.0


def test_bars_to_compare_with_are_grey_and_the_others_differ() -> None:
    names = ["most frequent", *(f"layer {layer}" for layer in range(3))]
    chart = bars([[1.0, 2.0, 3.0, 4.0]], groups=["a"], names=names, grey=["most frequent"])
    colour = chart.to_dict()["vconcat"][0]["layer"][0]["encoding"]["color"]
    assert colour["scale"] == {"domain": names, "range": [GREY, *COLOURS[:3]]}


def test_bars_of_nothing_but_zeros() -> None:
    assert [row["value"] for row in rows_of(bars([[0.0]], groups=["a"], names=["b"]))] == [0.0]


def test_a_grid_keeps_what_its_charts_hold() -> None:
    first, second = lines({"a": Line([1], [2])}), lines({"a": Line([3], [4])})
    together = grid([first, second], columns=1).to_dict()
    assert together["columns"] == 1
    assert len(together["concat"]) == 2
    assert not any("config" in chart for chart in together["concat"])
    assert "config" in first.to_dict(), "the chart itself is not changed"
    values = [row["y"] for rows in together["datasets"].values() for row in rows]
    assert sorted(values) == [2.0, 4.0]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: scatter_map([1, 2], groups=["a"]), r"points: expected .*\(N, 2\), found \(2,\)"),
        (lambda: scatter_map(np.zeros((0, 2)), groups=[]), r"points: .*found \(0, 2\)"),
        (lambda: scatter_map([[0, np.nan]], groups=["a"]), "points: expected finite"),
        (lambda: scatter_map([[0, 0]], groups=[]), "groups: expected 1, one for each point, .*0"),
        (lambda: scatter_map([[0, 0]], groups=["a"], texts=["b", "c"]), "texts: expected 1,.* 2"),
        (lambda: scatter_map([[0, 0]], groups=["a"], labels=[]), "labels: expected 1, .*found 0"),
        (lambda: heat_map([1.0], rows=["a"], columns=["b"]), r"values: .*\(R, C\), found \(1,\)"),
        (lambda: heat_map([[np.nan]], rows=["a"], columns=["b"]), "values: expected finite"),
        (lambda: heat_map([[np.inf]], rows=["a"], columns=["b"]), "values: expected finite"),
        (lambda: heat_map([[1.0]], rows=["a", "b"], columns=["b"]), "rows: expected 1, .*found 2"),
        (lambda: heat_map([[1.0]], rows=["a"], columns=[]), "columns: expected 1, .*found 0"),
        (
            lambda: heat_map([[1.0]], rows=["a"], columns=["b"], limits=(2.0, 1.0)),
            "limits: expected the smaller one first, found 2.0 and 1.0",
        ),
        (lambda: lines({}), "named: expected one or more lines"),
        (lambda: lines({"a": Line([], [])}), r"a: x: expected the shape \(S,\), found \(0,\)"),
        (lambda: lines({"a": Line([1], [1, 2])}), "a: y: expected 1, one for each x, found 2"),
        (lambda: lines({"a": Line([1], [1], [])}), "a: deviations: expected 1, .*found 0"),
        (lambda: lines({"a": Line([1], [np.inf])}), "a: expected finite numbers"),
        (lambda: lines({"a": Line([0], [1])}, logarithmic=True), "x: a logarithmic axis"),
        (lambda: bars([1.0], groups=["a"], names=["b"]), r"values: .*\(G, S\), found \(1,\)"),
        (
            lambda: bars([[-1.0]], groups=["a"], names=["b"]),
            "values: expected numbers of 0 or more",
        ),
        (lambda: bars([[1.0]], groups=[], names=["b"]), "groups: expected 1, .*found 0"),
        (lambda: bars([[1.0, 2.0]], groups=["a"], names=["b", "b"]), "names: .* each name once"),
        (
            lambda: bars([[1.0]], groups=["a"], names=["b"], deviations=[1.0]),
            r"deviations: expected the shape \(1, 1\), found \(1,\)",
        ),
        (lambda: grid([], columns=1), "charts: expected one or more"),
    ],
)
def test_arrays_that_cannot_be_drawn(draw: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()
