"""A text file, plain or packed, as numbered documents: one sentence a line, blank lines between."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from elmokit.config import Marks
from elmokit.errors import InputError
from elmokit.lm.numbered_text import NumberedText

STANDARD_INPUT = "-"
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}


def read_lines(source: str | Path) -> Iterator[str]:
    """Give the lines of a UTF-8 file without their ends; ``-`` is standard input.

    Files ``.gz``, ``.xz`` and ``.bz2`` are unpacked on the way.
    """
    with _opened(source) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{source}, line {number}: not UTF-8 ({error.reason}); convert it to UTF-8"
                ) from error
            yield text.rstrip("\r\n")


def read_text(
    source: str | Path, *, tokenise: Callable[[str], list[str]], marks: Marks
) -> NumberedText:
    """Read a text; a line without tokens ends a document."""
    text = NumberedText(marks)
    sentences: list[list[str]] = []
    size = 0
    for line in read_lines(source):
        tokens = tokenise(line)
        if tokens:
            sentences.append(tokens)
            size += len(line.encode("utf-8")) + 1
        else:
            text.add(sentences, size=size)
            sentences, size = [], 0
    text.add(sentences, size=size)
    if not text.documents:
        raise InputError(f"{source}: holds no sentence")
    return text


@contextmanager
def _opened(source: str | Path) -> Iterator[IO[bytes]]:
    if str(source) == STANDARD_INPUT:
        # Not ours to close: leave standard input open for whoever called.
        with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
            yield stream
        return
    path = Path(source)
    try:
        opener = _OPENERS.get(path.suffix)
        with path.open("rb") if opener is None else opener(path) as stream:
            yield cast(IO[bytes], stream)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{source}: cannot be read ({problem})") from error
