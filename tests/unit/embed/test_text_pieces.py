"""Cutting text files: no line is lost, doubled or cut, and bad ones are named at once."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed import text_pieces
from elmokit.embed.embed_file import embed_file
from elmokit.embed.load import load
from elmokit.embed.text_pieces import TextPiece, cut_files, piece_lines
from elmokit.errors import InputError

LINES = st.text(alphabet="ab \r\ufeff é漢😀\x0b\x85\u2028", max_size=12)
TEXTS = st.tuples(st.lists(LINES, max_size=12), st.booleans()).map(
    lambda parts: ("\n".join(parts[0]) + "\n" * parts[1]).encode()
)


def read_simply(raw: bytes) -> list[str]:
    """Cut a text by the rule itself: lines end in a line feed, marks and line ends go."""
    lines = raw.removeprefix(b"\xef\xbb\xbf").decode().split("\n") if raw else []
    if raw.endswith(b"\n"):
        lines.pop()
    return [line.rstrip("\r\n") for line in lines]


@given(
    first=TEXTS,
    second=TEXTS,
    piece_bytes=st.integers(min_value=1, max_value=40),
    block=st.integers(min_value=1, max_value=50),
)
def test_pieces_have_every_line_once_in_order(
    first: bytes,
    second: bytes,
    piece_bytes: int,
    block: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    names = [folder / "first.txt", folder / "second.txt"]
    for name, raw in zip(names, (first, second), strict=True):
        name.write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "_BLOCK_BYTES", block)
        sources, pieces = cut_files(names, piece_bytes=piece_bytes)
    assert [piece.number for piece in pieces] == list(range(len(pieces)))
    ids: list[int] = []
    for name, raw, source in zip(names, (first, second), sources, strict=True):
        own = [piece for piece in pieces if piece.source == str(name)]
        assert source.sha256 == hashlib.sha256(raw).hexdigest()
        assert (source.size, source.lines) == (len(raw), len(read_simply(raw)))
        assert b"".join(raw[piece.start : piece.end] for piece in own) == raw
        found: list[str] = []
        for piece in own:
            assert piece.first_index == len(found)
            ids += range(piece.first_id, piece.first_id + piece.lines)
            lines = piece_lines(piece)
            assert sum(size for _, size in lines) == piece.end - piece.start
            found += [text for text, _ in lines]
        assert found == read_simply(raw)
        # As large as was asked for, but for the last; and a line over at most.
        for piece in own[:-1]:
            assert piece.end - piece.start >= piece_bytes
        for piece in own:
            last = piece_lines(piece)[-1][1]
            assert piece.end - piece.start - last < piece_bytes
    assert ids == list(range(sum(source.lines for source in sources)))


@pytest.mark.parametrize(
    "raw",
    [b"fine\nnot \xff fine\n", b"\xef\xbb\xbf\xc3\n", b"cut off \xe6\xbc", b"\xff\xfea\0"],
    ids=["in a line", "behind a mark", "at the end", "UTF-16"],
)
def test_bad_bytes_are_named_as_for_one_file(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_bytes(raw)
    with pytest.raises(InputError) as alone:
        embed_file(load("tiny-untrained", device="cpu"), file, tmp_path / "out.parquet")
    with pytest.raises(InputError) as cut:
        cut_files([file])
    assert str(cut.value) == str(alone.value)
    assert "not UTF-8" in str(cut.value)


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a\n")
    with pytest.raises(InputError, match="at least one text file"):
        cut_files([])
    with pytest.raises(InputError, match=r"a.txt is named more than once"):
        cut_files([file, file])
    with pytest.raises(InputError, match=r"nothing.txt: no such file"):
        cut_files([file, tmp_path / "nothing.txt"])
    with pytest.raises(InputError, match="is a folder"):
        cut_files([tmp_path])
    with pytest.raises(InputError, match="-: a folder of shards is made from files"):
        cut_files(["-"])
    with pytest.raises(InputError, match=r"shard_bytes: .* found 0"):
        cut_files([file], piece_bytes=0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="can be read twice"):
        cut_files([tmp_path / "pipe"])


def cut_one(file: Path) -> TextPiece:
    _, (piece,) = cut_files([file])
    return piece


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    piece = cut_one(file)
    file.write_text("one\ntwo\nthree\n")
    with pytest.raises(InputError, match="has 14 bytes here, expected 8"):
        piece_lines(piece)
    file.write_text("one two\n")
    with pytest.raises(InputError, match="1 lines where there were 2"):
        piece_lines(piece)
    file.unlink()
    with pytest.raises(InputError, match=r"a.txt: cannot be read here .*same path"):
        piece_lines(piece)
