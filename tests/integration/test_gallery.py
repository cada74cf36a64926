"""The gallery's page is what its script makes, and its pictures are there and can be read."""

import importlib.util
import json
import struct
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _script() -> ModuleType:
    file = ROOT / "scripts" / "make_gallery.py"
    spec = importlib.util.spec_from_file_location("make_gallery", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_gallery"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


GALLERY = _script()
DRAWN = list(filter(GALLERY.can_be_drawn, GALLERY.PICTURES))


def test_the_page_is_what_the_script_makes() -> None:
    assert GALLERY.PAGE.read_text(encoding="utf-8") == GALLERY.page(), "run make_gallery.py"


@pytest.mark.parametrize("picture", DRAWN, ids=lambda picture: str(picture.name))
def test_pictures_are_there_in_both_formats(picture: object) -> None:
    name = GALLERY.IMAGES / str(getattr(picture, "name", ""))
    svg = ElementTree.parse(name.with_suffix(".svg")).getroot()
    content = name.with_suffix(".png").read_bytes()
    width, height = struct.unpack(">II", content[16:24])
    # The same picture: the SVG's size at 200 dots for its 72 points an inch.
    assert width == pytest.approx(float(svg.get("width", "nan")) * 200 / 72, abs=2)
    assert height == pytest.approx(float(svg.get("height", "nan")) * 200 / 72, abs=2)


def test_results_that_are_not_there_leave_a_picture_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GALLERY, "RESULTS", tmp_path)
    assert "images/layers.svg" not in GALLERY.page()
    (tmp_path / "task_runs.jsonl").touch()
    assert "images/layers.svg" in GALLERY.page()


def test_probes_are_drawn_from_what_compare_prints(tmp_path: Path) -> None:
    rows = [
        {"name": "GloVe", "pos": 73.5, "wsd": 64.7, "wsd_neighbour": 49.1},
        {"name": "biLM", "layer": 1, "pos": 95.5, "wic": 57.4},
    ]
    results = tmp_path / "compare.json"
    results.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    GALLERY.draw_probes(results, tmp_path / "probes.svg")
    drawn = (tmp_path / "probes.svg").read_text(encoding="utf-8")
    for label in ("biLM, layer 1", "GloVe", "same meaning, accuracy", "95.5", "49.1"):
        assert f">{label}</text>" in drawn


def test_code_draws_where_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GALLERY, "IMAGES", tmp_path)
    picture = GALLERY.Picture(
        name="small", title="", text="", language="shell", code="echo drawn > small.svg"
    )
    for suffix in GALLERY.SUFFIXES:
        GALLERY.draw(picture, suffix)
        assert (tmp_path / f"small{suffix}").read_text(encoding="utf-8") == "drawn\n"
