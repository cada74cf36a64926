import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from elmokit.errors import FormatError, InputError
from elmokit.formats.word2vec_files import writing_word_vectors
from elmokit.formats.word_vectors import WordVectors, read_word_vectors
from unit.corpus.packed_text import COMPRESSIONS, each_compression

GLOVE = "the 0.5 -1 2\n, 1e-1 0 0.25\ncat 3 3 3\n"


def read(
    folder: Path, text: str, *, limit: int | None = None, wanted: tuple[str, ...] = ()
) -> WordVectors:
    (folder / "v.txt").write_bytes(text.encode())
    return read_word_vectors(folder / "v.txt", limit=limit, wanted=frozenset(wanted))


def write(file: Path, words: Sequence[str], vectors: NDArray[Any]) -> None:
    with writing_word_vectors(file, count=len(words), dim=vectors.shape[1]) as block:
        block(words, vectors)


def test_a_word_and_its_numbers_a_line(tmp_path: Path) -> None:
    found = read(tmp_path, GLOVE)
    assert found.words == ("the", ",", "cat")
    assert found.vectors.dtype == np.float32
    expected = np.array([[0.5, -1, 2], [0.1, 0, 0.25], [3, 3, 3]], np.float32)
    assert np.array_equal(found.vectors, expected)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])  # word2vec leaves a space
def test_the_first_line_of_word2vec_is_no_word(tmp_path: Path, end: str) -> None:
    text = "".join(line + end for line in ("3 3", *GLOVE.splitlines()))
    found, plain = read(tmp_path, text), read(tmp_path, GLOVE)
    assert found.words == plain.words
    assert np.array_equal(found.vectors, plain.vectors)


def test_numbers_are_words_elsewhere(tmp_path: Path) -> None:
    assert read(tmp_path, "12 0.5\n7 3\n").words == ("12", "7")
    assert read(tmp_path, "2 1\n12 0.5\n7 3\n").words == ("12", "7")


def test_words_are_kept_as_they_are_written(tmp_path: Path) -> None:
    words = ("The", "the", "naïve", "\xa0", "猫", "고양이", "</s>")
    assert read(tmp_path, "".join(f"{word} 1 2\n" for word in words)).words == words


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + GLOVE).words[0] == "the"


def test_words_with_spaces_of_gloves_largest_file(tmp_path: Path) -> None:
    found = read(tmp_path, "a 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    assert found.words == ("a", ". . .", "at name@domain.com")
    assert found.vectors[1:].tolist() == [[3, 4], [5, 6]]
    # One that only begins like a wanted word is not wanted.
    found = read(tmp_path, "a 1 2\nat name@domain.com 5 6\nat 7 8\n", limit=1, wanted=("at",))
    assert found.words == ("a", "at")


@each_compression
def test_compressed_files_are_read_and_written(tmp_path: Path, name: str) -> None:
    suffix, compress = COMPRESSIONS[name]
    (tmp_path / f"v.txt{suffix}").write_bytes(compress(GLOVE.encode()))
    found = read_word_vectors(tmp_path / f"v.txt{suffix}")
    assert found.words == ("the", ",", "cat")
    write(tmp_path / f"again{suffix}", *found)
    assert (tmp_path / f"again{suffix}").read_bytes()[:2] == compress(b"x")[:2]
    again = read_word_vectors(tmp_path / f"again{suffix}")
    assert again.words == found.words
    assert np.array_equal(again.vectors, found.vectors)


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(GLOVE.encode() * 50)[:-20])
    with pytest.raises(FormatError, match=r"v\.txt\.gz: the gzip archive breaks off"):
        read_word_vectors(tmp_path / "v.txt.gz")


def test_the_first_words_and_those_that_are_wanted(tmp_path: Path) -> None:
    text = "".join(f"w{number} {number} 0\n" for number in range(9))
    found = read(tmp_path, text, limit=3, wanted=("w1", "w7", "w5", "none"))
    assert found.words == ("w0", "w1", "w2", "w5", "w7")
    assert found.vectors[:, 0].tolist() == [0, 1, 2, 5, 7]
    assert read(tmp_path, text, limit=2).words == ("w0", "w1")
    assert read(tmp_path, text, limit=0, wanted=("w7", "w5")).words == ("w5", "w7")
    nothing = read(tmp_path, text, limit=0, wanted=("none",))
    assert nothing.words == () and nothing.vectors.shape == (0, 0)


def test_what_is_passed_over_need_not_be_whole(tmp_path: Path) -> None:
    assert read(tmp_path, "a 1 2\nb 1\n", limit=1).words == ("a",)


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
        (" 1 2", "line 3: expected a word and 2 numbers, found ' 1 2'"),
        ("b 1 two", "line 3: expected a word and numbers .*two"),
        ("b  1", "line 3: expected a word and numbers"),
        ("b 1 nan", "line 3: expected numbers of ordinary size, found 'b 1 nan'"),
        ("b 1 inf", "line 3: expected numbers of ordinary size"),
        ("b 1 -1e60", "line 3: expected numbers of ordinary size"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=rf"v\.txt: {message}"):
        read(tmp_path, f"2 2\na 1 2\n{line}\nc 1 2\n")


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"a 1 2\n\xff 1 2\n")
    with pytest.raises(FormatError, match=r"v\.txt: line 2: is no UTF-8 text"):
        read_word_vectors(tmp_path / "v.txt")


def test_only_the_beginning_of_a_long_line_is_shown(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, "a 1 2\n" + "b" + " 1" * 5000 + "\n")
    assert len(str(caught.value)) < 300


def test_files_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"v\.txt: holds no data: found an empty file"):
        read(tmp_path, "")
    with pytest.raises(FormatError, match=r"v\.txt: holds no word vectors"):
        read(tmp_path, "0 100\n")
    with pytest.raises(FormatError, match=r"none\.txt: cannot be read \(No such file"):
        read_word_vectors(tmp_path / "none.txt")


def test_a_file_that_breaks_off_after_a_whole_line_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"v\.txt: breaks off: expected 4, found 3 words"):
        read(tmp_path, "4 3\n" + GLOVE)


def test_a_limit_that_is_no_number_of_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="limit: expected a number of words, found -1"):
        read(tmp_path, GLOVE, limit=-1)


def test_what_is_written_reads_back_to_the_bit(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(50, 7)) * 10.0 ** random.integers(-9, 9, (50, 7))).astype("f4")
    words = [f"낱말{number}" for number in range(50)]
    write(tmp_path / "v.txt", words, vectors)
    assert (tmp_path / "v.txt").read_text(encoding="utf-8").splitlines()[0] == "50 7"
    found = read_word_vectors(tmp_path / "v.txt")
    assert found.words == tuple(words)
    assert np.array_equal(found.vectors, vectors)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], np.ones((2, 3)), r"vectors: expected \(1, 3\), found \(2, 3\)"),
        (["a b"], np.ones((1, 3)), "words: 'a b' cannot be written"),
        ([""], np.ones((1, 3)), "words: '' cannot be written"),
        (["a", "b"], np.array([[1.0], [np.nan]]), "vectors: that of 'b' is not finite"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, words: list[str], vectors: np.ndarray[tuple[int, int]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write(tmp_path / "v.txt", words, vectors)
    assert not (tmp_path / "v.txt").exists()
