"""Charts to files: formats, text, letters without a font, hostile text."""

import json
import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from elmokit.errors import InputError, MissingExtraError
from elmokit.plots import bars, heat_map, save, scatter_map
from elmokit.plots.save import NO_LETTER, _drawn, _warn_of_missing_letters

SVG = "{http://www.w3.org/2000/svg}"


def chart(text: str = "bank", title: str = "") -> Any:
    return scatter_map(
        [[0, 0], [1, 2]], groups=[text, "b"], texts=[text, text], labels=["a", ""], title=title
    )


def texts_of(file: Path) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.parse(file).iter(f"{SVG}text")]


def test_an_svg_has_korean_text_as_text(tmp_path: Path) -> None:
    save(
        heat_map([[0.25]], rows=["은행"], columns=["층 0"], title="층의 무게"), tmp_path / "map.svg"
    )
    texts = texts_of(tmp_path / "map.svg")
    assert {"은행", "층 0", "층의 무게", "0.25"} <= set(texts)
    # Whoever looks at it has one of these fonts with Korean letters.
    written = (tmp_path / "map.svg").read_text(encoding="utf-8")
    for font in ("Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic"):
        assert font in written


def test_a_png_is_drawn_for_print(tmp_path: Path) -> None:
    save(bars([[1.0, 2.0]], groups=["a"], names=["b", "c"]), tmp_path / "bars.svg")
    save(bars([[1.0, 2.0]], groups=["a"], names=["b", "c"]), tmp_path / "bars.png")
    content = (tmp_path / "bars.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    root = ElementTree.parse(tmp_path / "bars.svg").getroot()
    # 200 dots an inch, where an SVG has 72 points.
    assert width == pytest.approx(float(root.get("width", "nan")) * 200 / 72, abs=2)
    assert height == pytest.approx(float(root.get("height", "nan")) * 200 / 72, abs=2)


class _Page(HTMLParser):
    """The scripts of a page, and the other files that it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.loaded: list[str] = []
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag == "script":
            self.scripts[-1] += data


def test_a_page_loads_nothing_and_no_text_leaves_its_place(tmp_path: Path) -> None:
    text = "</script><script>alert('강둑')</script><!--"
    drawn = chart(text, title="<b>강둑</b>")
    save(drawn, tmp_path / "map.html")
    page = _Page((tmp_path / "map.html").read_text(encoding="utf-8"))
    assert page.loaded == []
    program, data, start = page.scripts
    assert "vegaEmbed" in program
    assert "vegaEmbed" in start
    assert json.loads(data) == drawn.to_dict()
    (rows,) = json.loads(data)["datasets"].values()
    assert rows[0]["text"] == text
    written = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "<title>&lt;b&gt;강둑&lt;/b&gt;</title>" in written


@pytest.mark.parametrize("name", ["map.svg", "map.png", "map.html"])
def test_the_same_chart_is_the_same_file(tmp_path: Path, name: str) -> None:
    found = []
    for _ in range(2):
        save(chart(), tmp_path / name)
        found.append((tmp_path / name).read_bytes())
    assert found[0] == found[1]
    save(chart("river"), tmp_path / name)
    assert (tmp_path / name).read_bytes() != found[0]
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["map.jpg", "map", "map.svg.bak"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    message = rf"{name}: expected a name that ends in \.png, \.svg or \.html"
    with pytest.raises(InputError, match=message):
        save(chart(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vl_convert

    def fail(*_: Any, **__: Any) -> str:
        raise ValueError("no picture")

    (tmp_path / "map.svg").write_text("old", encoding="utf-8")
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", fail)
    with pytest.raises(ValueError, match="no picture"):
        save(chart(), tmp_path / "map.svg")
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none is not a folder; create it first"):
        save(chart(), tmp_path / "none" / "map.svg")


class LatinAlone:
    """A machine whose fonts have Latin letters and draw all others as a box."""

    @staticmethod
    def svg_to_png(svg: str) -> bytes:
        (letter,) = re.findall(r">(.)</text>", svg)
        return letter.encode() if ord(letter) < 0x250 else b"box"


def test_letters_without_a_font_are_told() -> None:
    with pytest.warns(UserWarning, match=r"no font of this machine has '은'.*SVG or HTML"):
        _warn_of_missing_letters({"title": "은"}, LatinAlone)
    _warn_of_missing_letters({"title": "bank, größer, Łódź"}, LatinAlone)  # warnings are errors


def test_letters_are_told_from_boxes() -> None:
    import vl_convert

    # Every machine that draws text at all has Latin letters.
    assert _drawn("ł", vl_convert) != _drawn(NO_LETTER, vl_convert)


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    drawn = chart()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install \"elmokit\[viz\]\""):
        save(drawn, tmp_path / "map.svg")
    assert not list(tmp_path.iterdir())
