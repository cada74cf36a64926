"""The plot of samples: what is in the chart and in the files."""

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from elmokit.errors import InputError, MissingExtraError
from elmokit.tasks.plots import Curve, Panel, plot_samples, samples_chart

SVG = "{http://www.w3.org/2000/svg}"


def curve(*means: float) -> Curve:
    shares = np.array([0.01, 0.1, 0.5, 1.0])[-len(means) :]
    return Curve(shares, np.array(means), np.full(len(means), 1.5))


PANEL = Panel("f1", base=curve(40, 60, 75, 80), elmo=curve(60, 75, 84, 86))
OTHER = Panel("accuracy", base=curve(30, 50), elmo=curve(20, 40, 50))


def records_of(chart: Any) -> list[dict[str, Any]]:
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_every_point_is_there_with_its_deviation() -> None:
    found = {
        (row["name"], row["x"], row["y"], row["low"], row["high"])
        for row in records_of(samples_chart({"ner": PANEL}))
    }
    assert found == {
        (name, 100 * share, mean, mean - 1.5, mean + 1.5)
        for name, one in (("base", PANEL.base), ("+ ELMo", PANEL.elmo))
        for share, mean in zip(one.shares.tolist(), one.means.tolist(), strict=True)
    }


def test_shares_stand_at_their_logarithms_and_have_the_ticks() -> None:
    chart = samples_chart({"ner": PANEL, "sst: 감성": OTHER}).to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["ner", "sst: 감성"]
    for panel, ticks in zip(chart["concat"], ([1, 10, 50, 100], [10, 50, 100]), strict=True):
        x = panel["layer"][0]["encoding"]["x"]
        assert x["scale"]["type"] == "log"
        assert x["axis"]["values"] == ticks


def test_lines_differ_in_more_than_their_colours() -> None:
    (panel,) = samples_chart({"ner": PANEL}).to_dict()["concat"]
    encodings = [layer["encoding"] for layer in panel["layer"]]
    for channel in ("color", "strokeDash", "shape"):
        (scale,) = {str(e[channel]["scale"]) for e in encodings if channel in e}
        assert "'domain': ['base', '+ ELMo']" in scale
        first, second = next(e[channel]["scale"]["range"] for e in encodings if channel in e)
        assert first != second


def test_the_labels_of_an_svg_are_text(tmp_path: Path) -> None:
    file = tmp_path / "samples.svg"
    plot_samples({"ner: CoNLL-2003": PANEL, "sst: SST-5": OTHER}, [file])
    texts = ["".join(text.itertext()) for text in ElementTree.parse(file).iter(f"{SVG}text")]
    for text in ("ner: CoNLL-2003", "sst: SST-5", "f1, %", "accuracy, %", "base", "+ ELMo"):
        assert texts.count(text) == 1, "one legend serves all panels"
    assert texts.count("% of the training data") == 2
    # The ticks of the axis are the shares, and no powers of ten.
    assert (texts.count("1"), texts.count("100")) == (1, 2)


def test_panels_stand_in_rows_of_three() -> None:
    assert samples_chart({"one": PANEL}).to_dict()["columns"] == 1
    assert samples_chart({str(n): PANEL for n in range(4)}).to_dict()["columns"] == 3


def test_all_files_are_written(tmp_path: Path) -> None:
    files = [tmp_path / f"samples.{suffix}" for suffix in ("png", "svg", "html")]
    plot_samples({"ner": Panel("f1", curve(80), curve(80))}, files)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert files[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("name", ["samples.jpg", "samples", "samples.svg.bak"])
def test_another_suffix_is_refused_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: expected a name that ends in \.png, \.svg or"):
        plot_samples({"ner": PANEL}, [tmp_path / "samples.png", tmp_path / name])
    assert not list(tmp_path.iterdir())


def test_no_panels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="panels: expected one or more, found none"):
        plot_samples({}, [tmp_path / "samples.png"])


def test_without_altair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"altair.*pip install \"elmokit\[viz\]\""):
        plot_samples({"ner": PANEL}, [tmp_path / "samples.png"])
    assert not list(tmp_path.iterdir())
