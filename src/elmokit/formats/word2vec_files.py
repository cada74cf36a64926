"""Word vectors written block by block, as text or binary, and the binary ones read.

word2vec's binary format begins with a line of two numbers, how many words and how many numbers
each. Every word is followed by a space, its numbers as 32-bit floats, and a line end that some
programs leave out.

V words, D size of a vector
"""

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elmokit.archives import SUFFIXES, ArchiveError, packing, unpacked
from elmokit.errors import FormatError, InputError
from elmokit.files import looks_like, open_input, replacing_file
from elmokit.formats.word_vectors import WordVectors

BINARY_SUFFIX = ".bin"

Write = Callable[[Sequence[str], NDArray[Any]], None]

_NUMBER = np.dtype("<f4")
_LONGEST_HEADER = 64
_LONGEST_WORD = 1 << 16
_READ_BYTES = 1 << 20


def is_binary(file: str | Path) -> bool:
    """Say whether a file's name, packed or not, promises the binary format."""
    name = Path(file).name.lower()
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name.endswith(BINARY_SUFFIX)


@contextmanager
def writing_word_vectors(file: str | Path, *, count: int, dim: int) -> Iterator[Write]:
    """Give a function that takes words and their vectors (n, D), until ``count`` were written.

    The format is told by the name: ``.bin`` is binary, anything else text, and a second ending
    such as ``.gz`` packs it. The file appears when it is whole.
    """
    destination = Path(file)
    binary = is_binary(destination)
    written = 0
    with replacing_file(destination) as beside, packing(beside, destination.name) as stream:
        stream.write(f"{count} {dim}\n".encode())

        def write(words: Sequence[str], vectors: NDArray[Any]) -> None:
            nonlocal written
            if vectors.shape != (len(words), dim):
                raise InputError(f"vectors: expected ({len(words)}, {dim}), found {vectors.shape}")
            rows = vectors.astype(_NUMBER, copy=False)
            for word, row in zip(words, rows, strict=True):
                _write_word(stream, word, row, binary=binary)
            written += len(words)

        yield write
        if written != count:
            raise InputError(f"words: expected {count:,}, found {written:,}")


def _write_word(stream: IO[bytes], word: str, row: NDArray[Any], *, binary: bool) -> None:
    if not word or word.split() != [word]:
        raise InputError(f"words: {word!r} cannot be written: it is empty or holds a space")
    if not np.isfinite(row).all():
        raise InputError(f"vectors: that of {word!r} is not finite")
    try:
        name = word.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"words: {word!r} is no valid Unicode and cannot be written") from error
    # As many digits as give the same number when it is read again.
    numbers = row.tobytes() if binary else " ".join(row.astype(str)).encode()
    stream.write(b"%b %b\n" % (name, numbers))


def read_binary_word_vectors(
    file: str | Path, *, limit: int | None = None, wanted: Container[str] = ()
) -> WordVectors:
    """Read the first ``limit`` words of a binary file, and those after them that are ``wanted``.

    As in `elmokit.formats.word_vectors.read_word_vectors`, of a word that comes twice the first
    counts and the file may be compressed.
    """
    file = Path(file)
    if limit is not None and limit < 0:
        raise InputError(f"limit: expected a number of words, found {limit}")
    words: dict[str, None] = {}
    content = bytearray()
    try:
        with open_input(file) as packed:
            stream = unpacked(packed, file.name)
            header = _read_header(file, stream)
            for word, numbers in _records(file, stream, header):
                kept = limit is None or len(words) < limit or word in wanted
                if kept and word not in words:
                    words[word] = None
                    content += numbers
    except ArchiveError as error:
        raise FormatError(file, str(error)) from error
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error
    vectors = np.frombuffer(content, dtype=_NUMBER).astype(np.float32, copy=False)
    finite = np.isfinite(vectors)
    if not finite.all():
        bad = list(words)[int(np.argmin(finite)) // header.dim]
        raise FormatError(file, f"the vector of {bad!r} is not finite: the file is damaged")
    return WordVectors(tuple(words), vectors.reshape(len(words), header.dim if words else 0))


class _Header(NamedTuple):
    words: int
    dim: int


def _read_header(file: Path, stream: IO[bytes]) -> _Header:
    line = stream.readline(_LONGEST_HEADER)
    fields = line.split()
    if not line.endswith(b"\n") or len(fields) != 2 or not all(map(bytes.isdigit, fields)):
        found = looks_like(file)
        raise FormatError(file, "is no binary file of word2vec", found=found)
    header = _Header(*map(int, fields))
    if not header.words or not header.dim:
        raise FormatError(file, "holds no word vectors", found=line.decode().strip())
    return header


def _records(file: Path, stream: IO[bytes], header: _Header) -> Iterator[tuple[str, bytes]]:
    """Give each word with the bytes of its vector."""
    size = header.dim * _NUMBER.itemsize
    buffer, start = b"", 0
    for number in range(header.words):
        while (space := buffer.find(b" ", start)) < 0 or len(buffer) <= space + size:
            if space < 0 and len(buffer) - start > _LONGEST_WORD:
                raise FormatError(file, f"word {number + 1}: no end of it was found")
            more = stream.read(_READ_BYTES)
            if not more:
                raise FormatError(
                    file, "breaks off", found=f"{number} words", expected=header.words
                )
            buffer, start = buffer[start:] + more, 0
        try:
            word = buffer[start:space].removeprefix(b"\n").decode()
        except UnicodeDecodeError as error:
            raise FormatError(
                file, f"word {number + 1}: is no UTF-8 text ({error.reason})"
            ) from error
        start = space + 1 + size
        yield word, buffer[space + 1 : start]
