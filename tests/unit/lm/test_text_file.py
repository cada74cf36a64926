"""Text files, plain or packed: the lines that they hold, and what is said where they hold none."""

import sys
from pathlib import Path

import numpy as np
import pytest

from elmokit.config import Marks
from elmokit.errors import InputError, MissingExtraError
from elmokit.lm.numbered_text import NumberedText
from elmokit.lm.text_file import read_lines, read_text
from unit.corpus.packed_text import COMPRESSIONS, TEXT, each_compression

CONTENT = "\ufeffthe cat .\nthe größe\r\n \t \n\non the mat"


def read(path: Path) -> NumberedText:
    return read_text(path, tokenise=str.split, marks=Marks())


def packed(folder: Path, name: str, content: bytes, *, named: bool = True) -> Path:
    suffix, compress = COMPRESSIONS[name]
    file = folder / f"text.txt{suffix if named else ''}"
    file.write_bytes(compress(content))
    return file


def assert_content(text: NumberedText) -> None:
    assert [document.lengths.tolist() for document in text.documents] == [[3, 2], [3]]
    words = np.concatenate([document.words for document in text.documents])
    assert " ".join(text.words[number] for number in words) == "the cat . the größe on the mat"
    assert text.bytes == len("the cat .\nthe größe\non the mat\n".encode())
    assert text.tokens == 3 + 2 + 3 + 3


def test_blank_lines_end_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(CONTENT.encode())
    assert_content(read(tmp_path / "a.txt"))


@each_compression
@pytest.mark.parametrize("named", [True, False])
def test_packed_text_is_the_same_text(tmp_path: Path, name: str, named: bool) -> None:
    """What a file is decides, whatever its name says."""
    assert_content(read(packed(tmp_path, name, CONTENT.encode(), named=named)))


@each_compression
def test_lines_longer_than_what_is_read_at_once(tmp_path: Path, name: str) -> None:
    long = TEXT.replace(b"\n", b" ")
    content = b"\n" + long + b"\n\nshort\n" + long
    found = list(read_lines(packed(tmp_path, name, content)))
    assert found == content.decode().split("\n")


@pytest.mark.parametrize("name", ["plain", *COMPRESSIONS])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    file = tmp_path / "text.txt"
    if name == "plain":
        file.write_bytes(CONTENT.encode())
    else:
        packed(tmp_path, name, CONTENT.encode(), named=False)
    with file.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert_content(read(Path("-")))
        assert not stream.closed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "holds no sentence"),
        (b"", "holds no sentence"),
        (b"fine\n\xff\n", "line 2: not UTF-8"),
    ],
)
def test_files_without_text_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(file)
    assert str(caught.value).startswith(str(file))


@each_compression
@pytest.mark.parametrize("missing", [1, 9, 5000])
def test_an_archive_that_breaks_off(tmp_path: Path, name: str, missing: int) -> None:
    file = packed(tmp_path, name, TEXT)
    file.write_bytes(file.read_bytes()[:-missing])
    with pytest.raises(InputError) as caught:
        read(file)
    assert str(caught.value) == f"{file}: the {name} archive breaks off; get the file again"


@each_compression
def test_an_archive_with_something_behind_it(tmp_path: Path, name: str) -> None:
    file = packed(tmp_path, name, b"the cat\n")
    file.write_bytes(file.read_bytes() + b"rubbish that is long enough to be seen")
    with pytest.raises(InputError, match=f"the {name} archive is damaged .*; get the file again"):
        read(file)


@each_compression
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"plain text", "a file that starts with b'plain text'"),
        (b"<html><body>404", "a web page; the download failed"),
        (b"", "an empty file"),
    ],
)
def test_a_name_that_promises_what_is_not_there(
    tmp_path: Path, name: str, content: bytes, found: str
) -> None:
    file = tmp_path / f"a{COMPRESSIONS[name][0]}"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(file)
    expected = f"{file}: the file is no {name} archive but {found}; get the file again"
    assert str(caught.value) == expected


def test_zstd_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"\.zst files needs .*elmokit\[zst\]"):
        read(packed(tmp_path, "zstd", b"the cat\n"))


def test_missing_files_are_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.txt", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=rf"{path}: cannot be read \({reason}"):
            read(path)
