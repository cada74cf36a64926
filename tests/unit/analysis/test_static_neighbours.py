"""Neighbours of a word in a file of static vectors."""

from pathlib import Path

import pytest

from elmokit.analysis.static_neighbours import static_neighbours
from elmokit.errors import InputError


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    file = tmp_path / "vectors.txt"
    file.write_text("play 1 0\nthe 0 1\ngame 2 1\nplayed 9 1\n은행 1 1\n", encoding="utf-8")
    return file


def test_by_cosine(vectors: Path) -> None:
    found = static_neighbours(vectors, "play", 2)
    assert [one.word for one in found] == ["played", "game"]
    assert found[1].similarity == pytest.approx(2 / 5**0.5)
    assert [one.word for one in static_neighbours(vectors, "은행", 1)] == ["game"]


def test_lower_case_and_limit(vectors: Path) -> None:
    assert static_neighbours(vectors, "Play", 9) == static_neighbours(vectors, "play", 9)
    assert len(static_neighbours(vectors, "play", 9)) == 4
    assert [one.word for one in static_neighbours(vectors, "played", 9, limit=1)] == ["play"]


def test_unknown(vectors: Path) -> None:
    with pytest.raises(InputError, match=r"vectors\.txt: has no vector for 'bank'"):
        static_neighbours(vectors, "bank")
