"""Cutting files into blocks: whole lines, long lines in pieces, the same whatever the size."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmokit.corpus import blocks
from elmokit.corpus.blocks import cut_long_line, cut_place, read_blocks
from elmokit.corpus.sources import Source

LONGEST = 16


def pieces_of(file: Path, block_bytes: int, *, is_records: bool = False) -> list[tuple[int, bytes]]:
    """The lines and pieces of lines in a file, each with its number."""
    source = Source(str(file), "train", is_records, file.stat().st_size)
    found: list[tuple[int, bytes]] = []
    for number, block in enumerate(
        read_blocks([source], block_bytes=block_bytes, longest_line=LONGEST)
    ):
        assert block.starts_file == (number == 0 and bool(block.data))
        lines = block.data.removesuffix(b"\n").split(b"\n") if block.data else []
        found += [(block.first_line + n, line) for n, line in enumerate(lines)]
    return found


def expected_pieces(text: bytes) -> list[tuple[int, bytes]]:
    return [
        (number, piece)
        for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=1)
        for piece in cut_long_line(line, LONGEST)
    ]


@settings(max_examples=200, deadline=None)
@given(
    text=st.lists(st.sampled_from([b"a", b"bc ", b"\n", b"\n\n", "é".encode()]), max_size=120).map(
        b"".join
    ),
    block_bytes=st.integers(1, 50),
)
@example(text=b"a" * LONGEST, block_bytes=1)
@example(text=b"a" * LONGEST + b"\n", block_bytes=1)
@example(text=b"a" * (LONGEST + 1) + b"\n" + b"b" * LONGEST, block_bytes=40)
def test_lines_do_not_depend_on_the_size_of_blocks(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, block_bytes: int
) -> None:
    file = tmp_path_factory.mktemp("blocks") / "t"
    file.write_bytes(text)
    assert pieces_of(file, block_bytes) == (expected_pieces(text) if text else [])


def test_blocks_have_about_the_size_asked_for(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"1234567\n" * 1000)
    source = Source(str(tmp_path / "t"), "train", size=8000)
    sizes = [len(block.data) for block in read_blocks([source], block_bytes=100, longest_line=1000)]
    assert sum(sizes) == 8000
    assert max(sizes) <= 200
    assert min(sizes[:-1]) >= 100


def test_a_long_line_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"short\n" + b"long " * 50 + b"\nshort\n")
    source = Source(str(tmp_path / "t"), "train", size=263)
    found = list(read_blocks([source], block_bytes=10, longest_line=LONGEST))
    problems = [problem for block in found for problem in block.problems]
    assert [(problem.kind, problem.line) for problem in problems] == [("long_line", 2)]
    assert "more than 16 bytes" in problems[0].detail
    assert sum(block.lines for block in found) == 3


@pytest.mark.parametrize("block_bytes", [5, 1000])
def test_a_long_record_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "LONGEST_RECORD", LONGEST)
    (tmp_path / "t").write_bytes(b"one\n" + b"x" * 100 + b"\nthree\n" + b"y" * 100)
    assert pieces_of(tmp_path / "t", block_bytes, is_records=True) == [(1, b"one"), (3, b"three")]


@pytest.mark.parametrize(
    ("window", "place"),
    [
        (b"ab cd", 3),
        (b"ab\tcd", 3),
        (b"abcd", 4),
        (b" abcd", 5),
        ("abcé".encode()[:4], 3),
        ("ab한".encode()[:4], 2),
        ("a\U0001f600".encode()[:4], 1),
        (b"\x80\x80\x80\x80", 4),
        (b"abc\xff", 3),
    ],
)
def test_where_a_long_line_is_cut(window: bytes, place: int) -> None:
    assert cut_place(window) == place


@given(st.text(max_size=60))
def test_cut_text_stays_text(text: str) -> None:
    pieces = list(cut_long_line(text.encode(), LONGEST))
    assert "".join(piece.decode() for piece in pieces) == text
    assert all(len(piece) <= LONGEST for piece in pieces)
