import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from elmokit.errors import FormatError
from elmokit.tasks.inputs.static_vectors import StaticVectors, read_static_vectors

GLOVE = "the 0.5 -1 2\n, 1e-1 0 0.25\ncat 3 3 3\n"


def read(
    folder: Path, text: str, *, most: int = 100, wanted: tuple[str, ...] = (), name: str = "v.txt"
) -> StaticVectors:
    (folder / name).write_bytes(text.encode())
    return read_static_vectors(folder / name, most=most, wanted=frozenset(wanted))


def test_a_word_and_its_numbers_a_line(tmp_path: Path) -> None:
    found = read(tmp_path, GLOVE)
    assert found.words == ("the", ",", "cat")
    assert found.vectors.dtype == torch.float16
    expected = torch.tensor([[0.5, -1, 2], [0.1, 0, 0.25], [3, 3, 3]]).half()
    assert torch.equal(found.vectors, expected)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])  # word2vec leaves a space
def test_the_first_line_of_word2vec_is_no_word(tmp_path: Path, end: str) -> None:
    text = "".join(line + end for line in ("3 3", *GLOVE.splitlines()))
    found, plain = read(tmp_path, text), read(tmp_path, GLOVE)
    assert found.words == plain.words
    assert torch.equal(found.vectors, plain.vectors)


def test_numbers_are_words_elsewhere(tmp_path: Path) -> None:
    assert read(tmp_path, "12 0.5\n7 3\n").words == ("12", "7")
    assert read(tmp_path, "2 1\n12 0.5\n7 3\n").words == ("12", "7")


def test_words_are_kept_as_they_are_written(tmp_path: Path) -> None:
    words = ("The", "the", "naïve", "\xa0", "猫", "</s>")
    assert read(tmp_path, "".join(f"{word} 1 2\n" for word in words)).words == words


@pytest.mark.parametrize(
    ("compress", "name"), [(gzip.compress, "v.txt.gz"), (lzma.compress, "v.txt.xz")]
)
def test_compressed(tmp_path: Path, compress: Callable[[bytes], bytes], name: str) -> None:
    (tmp_path / name).write_bytes(compress(GLOVE.encode()))
    found = read_static_vectors(tmp_path / name, most=9, wanted=())
    assert found.words == ("the", ",", "cat")


def test_the_first_words_and_those_that_are_wanted(tmp_path: Path) -> None:
    text = "".join(f"w{number} {number} 0\n" for number in range(9))
    found = read(tmp_path, text, most=3, wanted=("w1", "w7", "w5", "none"))
    assert found.words == ("w0", "w1", "w2", "w5", "w7")
    assert found.vectors[:, 0].tolist() == [0, 1, 2, 5, 7]


def test_what_is_passed_over_need_not_be_whole(tmp_path: Path) -> None:
    assert read(tmp_path, "a 1 2\nb 1\n", most=1).words == ("a",)


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path: Path) -> None:
    found = read(tmp_path, "a 1 2\nb 3 4\na 5 6\nc 7 8\n")
    assert found.words == ("a", "b", "c")
    assert found.vectors.tolist() == [[1, 2], [3, 4], [7, 8]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b 1", "line 3: expected a word and 2 numbers, found 'b 1'"),
        ("b 1 2 3", "line 3: expected a word and 2 numbers, found 'b 1 2 3'"),
        ("b", "line 3: expected a word and 2 numbers, found 'b'"),
        ("", "line 3: expected a word and 2 numbers, found ''"),
        ("b 1 two", "line 3: expected a word and numbers .*two"),
        ("b  1", "line 3: expected a word and numbers"),
        ("b 1 nan", "line 3: expected numbers of ordinary size, found 'b 1 nan'"),
        ("b 1 inf", "line 3: expected numbers of ordinary size"),
        ("b 1 70000", "line 3: expected numbers of ordinary size"),
        ("b 1 -1e60", "line 3: expected numbers of ordinary size"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=rf"v\.txt: {message}"):
        read(tmp_path, f"2 2\na 1 2\n{line}\nc 1 2\n")


def test_only_the_beginning_of_a_long_line_is_shown(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, "a 1 2\n" + "b" + " 1" * 5000 + "\n")
    assert len(str(caught.value)) < 300


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"v\.txt: holds no data: found an empty file"):
        read(tmp_path, "")


def test_a_file_with_a_first_line_alone(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"v\.txt: holds no word vectors"):
        read(tmp_path, "0 100\n")
