"""A text file in, a file of vectors out."""

import errno
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from elmokit.embed import embed_lines
from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_file import embed_file
from elmokit.embed.npz_writer import NpzWriter
from elmokit.errors import InputError

PATIENCE = 30  # seconds until something counts as hanging


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def embed_bytes(elmo: Elmo, folder: Path, content: bytes, **options: Any) -> list[list[str]]:
    """Embed a file with this content, check the arrays, give the tokens."""
    source, output = folder / "in.txt", folder / "out.npz"
    source.write_bytes(content)
    summary = embed_file(elmo, source, output, **options)
    with np.load(output) as archive:
        tokens: list[list[str]] = json.loads(str(archive["tokens"]))
        arrays = [archive[str(i)] for i in range(len(tokens))]
    assert summary.output == str(output)
    assert summary.sentences == len(tokens)
    assert summary.tokens == sum(map(len, tokens))
    assert summary.dim == elmo.dim
    assert summary.seconds >= 0
    expected = elmo.embed(tokens, layers=options.get("layers", "average"))
    for array, vectors in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, vectors, atol=1e-6)
    return tokens


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (b"", []),
        (b"\n", [[]]),
        (b"a b\nc\n", [["a", "b"], ["c"]]),
        (b"a b\nc", [["a", "b"], ["c"]]),
        (b"a\r\nb\r\n", [["a"], ["b"]]),
        (b"\na\n\n\nb\n\n", [[], ["a"], [], [], ["b"], []]),
        (b"a\n  \t \nb", [["a"], [], ["b"]]),
        (b"\xef\xbb\xbfa b\nc", [["a", "b"], ["c"]]),
        (b"\xef\xbb\xbf", [[]]),
        ("가 나\u2028다\x0bb\x85c\n".encode(), [["가", "나", "다", "b", "c"]]),
        (b"a\x00b\n", [["a\x00b"]]),
    ],
    ids=[
        "empty file",
        "one empty line",
        "plain",
        "no final newline",
        "CRLF",
        "empty lines",
        "white space alone",
        "byte order mark",
        "nothing but a byte order mark",
        "other line separators are white space",
        "NUL",
    ],
)
def test_lines(elmo: Elmo, tmp_path: Path, content: bytes, tokens: list[list[str]]) -> None:
    assert embed_bytes(elmo, tmp_path, content, tokenised=True) == tokens


def test_raw_lines_go_through_the_tokeniser(elmo: Elmo, tmp_path: Path) -> None:
    content = b"She didn't.\n\nOK?"
    assert embed_bytes(elmo, tmp_path, content) == [["She", "did", "n't", "."], [], ["OK", "?"]]
    assert embed_bytes(elmo, tmp_path, content, tokenised=True) == [["She", "didn't."], [], ["OK?"]]


@pytest.mark.parametrize("layers", ["all", "top", 0, [0.5, 0.5, 0.0]])
def test_layers(elmo: Elmo, tmp_path: Path, layers: Any) -> None:
    embed_bytes(elmo, tmp_path, b"a b c\n\nd\n", layers=layers)


def test_many_lines_keep_their_order(elmo: Elmo, tmp_path: Path) -> None:
    lines = [" ".join(f"w{i}" for i in range(n * 7 % 13)) for n in range(300)]
    content = "".join(f"{line}\n" for line in lines).encode()
    assert embed_bytes(elmo, tmp_path, content, batch_tokens=20) == [line.split() for line in lines]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"ab\xffc\n", "line 1: not UTF-8 (byte 2 is 0xff)"),
        (b"fine\n\n\xe9t\xe9\n", "line 3: not UTF-8 (byte 0 is 0xe9)"),
        ("text in UTF-16".encode("utf-16"), "line 1: not UTF-8 (byte 0 is 0xff)"),
        (b"cut off \xea\xb0", "line 1: not UTF-8 (byte 8 is 0xea)"),
        (b"\xef\xbb\xbfab\xffc\n", "line 1: not UTF-8 (byte 5 is 0xff)"),
    ],
)
def test_what_is_not_utf8_is_named_by_its_place(
    elmo: Elmo, tmp_path: Path, content: bytes, place: str
) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(content)
    with pytest.raises(InputError) as caught:
        embed_file(elmo, source, tmp_path / "out.npz")
    assert str(caught.value) == f"{source}, {place}; convert the file to UTF-8"
    assert [file.name for file in tmp_path.iterdir()] == ["in.txt"]


def test_a_missing_file(elmo: Elmo, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.txt: cannot be read \(No such file"):
        embed_file(elmo, tmp_path / "nothing.txt", tmp_path / "out.npz")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_text(elmo: Elmo, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        embed_file(elmo, tmp_path, tmp_path / "out.npz")


def test_wrong_layers_leave_no_file(elmo: Elmo, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a b\n", encoding="utf-8")
    with pytest.raises(InputError, match="found 'bottom'"):
        embed_file(elmo, source, tmp_path / "out.npz", layers="bottom")
    assert [file.name for file in tmp_path.iterdir()] == ["in.txt"]


def test_standard_input(elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a b\n\nc", encoding="utf-8")
    with source.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        summary = embed_file(elmo, "-", tmp_path / "out.npz")
        assert not stream.closed
    assert (summary.sentences, summary.tokens) == (3, 3)


def test_a_progress_bar_is_silent_without_a_terminal(
    elmo: Elmo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    embed_bytes(elmo, tmp_path, b"a b\nc\n", progress=True)
    assert capsys.readouterr() == ("", "")


def test_reading_goes_on_while_the_first_sentence_is_written(
    elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_line_was_read = Event()
    words, write = elmo.tokeniser.words, NpzWriter.write

    def watched_words(text: str) -> list[str]:
        if text == "last":
            last_line_was_read.set()
        return words(text)

    def patient_write(self: NpzWriter, *sentence: Any) -> None:
        assert last_line_was_read.wait(PATIENCE)
        write(self, *sentence)

    monkeypatch.setattr(elmo.tokeniser, "words", watched_words)
    monkeypatch.setattr(NpzWriter, "write", patient_write)
    # A window is full after eight tokens, marks included, and is computed at once.
    tokens = embed_bytes(elmo, tmp_path, b"a b c d e f g h\n" * 50 + b"last\n", batch_tokens=1)
    assert len(tokens) == 51


def test_computing_goes_on_while_the_first_sentence_is_written(
    elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_was_computed = Event()
    embed_iter, write = elmo.embed_iter, NpzWriter.write

    def watched_embed_iter(*arguments: Any, **options: Any) -> Iterator[Any]:
        yield from embed_iter(*arguments, **options)
        all_was_computed.set()

    def patient_write(self: NpzWriter, *sentence: Any) -> None:
        assert all_was_computed.wait(PATIENCE)
        write(self, *sentence)

    monkeypatch.setattr(elmo, "embed_iter", watched_embed_iter)
    monkeypatch.setattr(NpzWriter, "write", patient_write)
    source = tmp_path / "in.txt"
    source.write_bytes(b"a b c d e f g h\n" * 50)
    embed_file(elmo, source, tmp_path / "out.npz", batch_tokens=1)
    with np.load(tmp_path / "out.npz") as archive:
        assert len(archive.files) == 51


def test_a_full_disk_is_one_error_and_leaves_nothing(
    elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def write(_: NpzWriter, text: str, *__: Any) -> None:
        written.append(text)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(NpzWriter, "write", write)
    # So that computing has to wait for the writer.
    monkeypatch.setattr(embed_lines, "BYTES_BEHIND", 1)
    source = tmp_path / "in.txt"
    source.write_bytes(b"a b c\n" * 100)
    with pytest.raises(OSError, match="No space left") as caught:
        embed_file(elmo, source, tmp_path / "out.npz", batch_tokens=1)
    assert caught.value.__context__ is None
    assert len(written) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["in.txt"]


def test_a_text_that_the_format_cannot_hold_is_refused_before_it_is_read(
    elmo: Elmo, tmp_path: Path
) -> None:
    source = tmp_path / "in.txt"
    with source.open("wb") as stream:
        stream.truncate(600_000_000)  # takes no place on disk
    with pytest.raises(InputError, match=r"at most 537 MB of text, found 600 MB; write a \.parq"):
        embed_file(elmo, source, tmp_path / "out.npz")


def test_values_too_large_for_float16_are_named(
    elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_iter = elmo.embed_iter

    def growing(*arguments: Any, **options: Any) -> Iterator[Any]:
        for number, vectors in enumerate(embed_iter(*arguments, **options)):
            yield vectors + 10.0 ** (2 * number)

    monkeypatch.setattr(elmo, "embed_iter", growing)
    source = tmp_path / "in.txt"
    source.write_bytes(b"a\n" * 10)
    with pytest.raises(InputError, match=r"^sentence 3: a value is too large for float16"):
        embed_file(elmo, source, tmp_path / "out.npz", float16=True)
    assert [file.name for file in tmp_path.iterdir()] == ["in.txt"]
