"""The plot of samples: what is in the files."""

import re
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from elmokit.errors import InputError, MissingExtraError
from elmokit.tasks.plots import DOTS_PER_INCH, PANEL_INCHES, Curve, Panel, plot_samples

SVG = "{http://www.w3.org/2000/svg}"


def curve(*means: float) -> Curve:
    shares = np.array([0.01, 0.1, 0.5, 1.0])[-len(means) :]
    return Curve(shares, np.array(means), np.full(len(means), 1.5))


PANEL = Panel("f1", base=curve(40, 60, 75, 80), elmo=curve(60, 75, 84, 86))
OTHER = Panel("accuracy", base=curve(30, 50), elmo=curve(20, 40, 50))


def texts_of(file: Path) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.parse(file).iter(f"{SVG}text")]


def png_size(file: Path) -> tuple[int, int]:
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content[12:16] == b"IHDR"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_the_labels_of_an_svg_are_text(tmp_path: Path) -> None:
    file = tmp_path / "samples.svg"
    plot_samples({"ner: CoNLL-2003": PANEL, "sst: SST-5": OTHER}, [file])
    texts = texts_of(file)
    for text in ("ner: CoNLL-2003", "sst: SST-5", "f1, %", "accuracy, %"):
        assert texts.count(text) == 1
    for text in ("base", "+ ELMo", "% of the training data"):
        assert texts.count(text) == 2, "in each panel"
    # The ticks of the axis are the shares, and no powers of ten.
    assert (texts.count("1"), texts.count("100")) == (1, 2)
    assert not any("10^" in text or "mathdefault" in text for text in texts)


def test_lines_differ_in_more_than_their_colours(tmp_path: Path) -> None:
    file = tmp_path / "samples.svg"
    plot_samples({"ner": PANEL}, [file])
    styles = [path.get("style", "") for path in ElementTree.parse(file).iter(f"{SVG}path")]
    lines = {
        colour: [s for s in styles if f"stroke: {colour}" in s and "stroke-width: 1.3" in s]
        for colour in ("#d55e00", "#0072b2")
    }
    assert len(lines["#d55e00"]) == len(lines["#0072b2"]) == 1
    assert "stroke-dasharray" in lines["#d55e00"][0]
    assert "stroke-dasharray" not in lines["#0072b2"][0]
    # Names of lines have the lines' colours.
    written = file.read_text(encoding="utf-8")
    assert re.search(r"fill: #d55e00[^>]*>base<", written)
    assert re.search(r"fill: #0072b2[^>]*>\+ ELMo<", written)


def test_markers_stand_at_the_logarithms_of_shares(tmp_path: Path) -> None:
    file = tmp_path / "samples.svg"
    plot_samples({"ner": PANEL}, [file])
    tree = ElementTree.parse(file)
    ticks = [
        float(use.get("x", "nan"))
        for group in tree.iter(f"{SVG}g")
        if group.get("id", "").startswith("xtick")
        for use in group.iter(f"{SVG}use")
    ]
    assert len(ticks) == 4
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps / steps.sum(), np.log10([10, 5, 2]) / 2, atol=1e-4)


def test_the_size_of_a_png(tmp_path: Path) -> None:
    width, height = (round(inches * DOTS_PER_INCH) for inches in PANEL_INCHES)
    plot_samples({"one": PANEL}, [tmp_path / "one.png"])
    assert png_size(tmp_path / "one.png") == (width, height)
    plot_samples({str(n): PANEL for n in range(4)}, [tmp_path / "four.png"])
    assert png_size(tmp_path / "four.png") == (3 * width, 2 * height)


def test_the_same_plot_is_the_same_file(tmp_path: Path) -> None:
    for name in ("first", "second"):
        plot_samples({"ner": PANEL}, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    for suffix in ("svg", "png"):
        first, second = (tmp_path / f"{name}.{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    plot_samples({"ner": OTHER}, [tmp_path / "second.svg"])
    assert (tmp_path / "first.svg").read_bytes() != (tmp_path / "second.svg").read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


def test_the_higher_line_has_the_higher_name(tmp_path: Path) -> None:
    # However near the lines come to each other.
    high, low = curve(60, 80.1), curve(40, 80.0)
    heights = []
    for panel in (Panel("f1", base=low, elmo=high), Panel("f1", base=high, elmo=low)):
        plot_samples({"ner": panel}, [tmp_path / "samples.svg"])
        found = {}
        for text in ElementTree.parse(tmp_path / "samples.svg").iter(f"{SVG}text"):
            if text.text in ("base", "+ ELMo"):
                place = re.search(r"translate\(\S+ (\S+)\)", text.get("transform", ""))
                found[text.text] = float(place[1] if place else text.get("y", "nan"))
        heights.append(found["base"] - found["+ ELMo"])
    assert heights[0] > 5, "in an SVG what is lower has the larger number"
    assert heights[1] < -5


def test_one_share_alone(tmp_path: Path) -> None:
    plot_samples({"ner": Panel("f1", curve(80), curve(80))}, [tmp_path / "samples.svg"])
    assert "100" in texts_of(tmp_path / "samples.svg")


@pytest.mark.parametrize("name", ["samples.jpg", "samples", "samples.svg.bak"])
def test_another_suffix_is_refused_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: expected a name that ends in \.png or \.svg"):
        plot_samples({"ner": PANEL}, [tmp_path / "samples.png", tmp_path / name])
    assert not list(tmp_path.iterdir())


def test_no_panels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="panels: expected one or more, found none"):
        plot_samples({}, [tmp_path / "samples.png"])


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*pip install \"elmokit\[viz\]\""):
        plot_samples({"ner": PANEL}, [tmp_path / "samples.png"])
    assert not list(tmp_path.iterdir())
