"""Static word vectors as text: the format that word2vec, GloVe and fastText share.

One word a line, then its numbers, all parted by single spaces; the most frequent words come
first. word2vec and fastText begin with a line of two numbers, how many words and how many numbers
each; GloVe does not.

V words, D size of a vector
"""

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from elmokit.archives import ArchiveError, unpacked
from elmokit.errors import FormatError, InputError
from elmokit.files import looks_like, open_input


class WordVectors(NamedTuple):
    """Words and their vectors."""

    words: tuple[str, ...]
    """Distinct, in the order of the file."""
    vectors: NDArray[Any]
    """(V, D); where no word was wanted, (0, 0)."""


def read_word_vectors(
    file: str | Path,
    *,
    limit: int | None = None,
    wanted: Container[str] = (),
    dtype: DTypeLike = np.float32,
) -> WordVectors:
    """Read the first ``limit`` words of a file, and those after them that are ``wanted``.

    Without a ``limit`` all words are read; with a limit of 0 the wanted ones alone. Lines that are
    not kept are not looked at any further. Of a word that comes twice the first counts. The file
    may be compressed. The memory used is that of the vectors kept, in ``dtype``.
    """
    file = Path(file)
    if limit is not None and limit < 0:
        raise InputError(f"limit: expected a number of words, found {limit}")
    words: dict[str, None] = {}
    content = bytearray()  # grows in place: a list of rows would double the memory to be joined
    size, lines, promised = 0, 0, 0
    for number, line in _lines(file):
        if number == 1 and (header := _header(line)) is not None:
            promised, size = header
            continue
        lines += 1
        is_full = limit is not None and len(words) >= limit
        word, _, values = line.partition(" ")
        if is_full and word not in wanted:
            continue
        word, fields = _with_spaces(word, values, size)
        size = size or len(fields)
        row = _row(file, number, line, word, fields, size, np.dtype(dtype))
        if word not in words and not (is_full and word not in wanted):
            words[word] = None
            content += row.tobytes()
    if not lines:
        raise FormatError(file, "holds no word vectors")
    if lines < promised:
        raise FormatError(file, "breaks off", found=f"{lines} words", expected=promised)
    vectors = np.frombuffer(content, dtype=dtype)
    return WordVectors(tuple(words), vectors.reshape(len(words), size if words else 0))


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Give numbered lines without their ends."""
    number = 0
    try:
        with open_input(file) as stream:
            for number, line in enumerate(unpacked(stream, file.name), start=1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip()
    except UnicodeDecodeError as error:
        raise FormatError(file, f"line {number}: is no UTF-8 text ({error.reason})") from error
    except ArchiveError as error:
        raise FormatError(file, str(error)) from error
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error
    if number == 0:
        raise FormatError(file, "holds no data", found=looks_like(file))


def _header(line: str) -> tuple[int, int] | None:
    fields = line.split(" ")
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _with_spaces(word: str, values: str, size: int) -> tuple[str, list[str]]:
    """Cut the numbers; what comes before the last ``size`` and is no number belongs to the word.

    A few words of GloVe's largest file hold spaces, such as ``. . .`` and e-mail addresses.
    """
    fields = values.split(" ")
    surplus = len(fields) - size
    if size and surplus > 0 and not any(map(_is_number, fields[:surplus])):
        return " ".join([word, *fields[:surplus]]), fields[surplus:]
    return word, fields


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _row(
    file: Path,
    number: int,
    line: str,
    word: str,
    fields: list[str],
    size: int,
    dtype: np.dtype[Any],
) -> NDArray[Any]:
    if len(fields) != size or not word or fields == [""]:
        expected = f"expected a word and {size} numbers"
        raise FormatError(file, f"line {number}: {expected}, found {line[:60]!r}")
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            row = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise FormatError(file, f"line {number}: expected a word and numbers ({error})") from error
    if not np.isfinite(row).all() or np.abs(row).max() > np.finfo(dtype).max:
        raise FormatError(
            file, f"line {number}: expected numbers of ordinary size, found {line[:60]!r}"
        )
    return row.astype(dtype)
