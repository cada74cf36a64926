"""A text file, plain or packed, as numbered documents: one sentence a line, blank lines between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from elmokit.archives import ArchiveError, unpacked
from elmokit.config import Marks
from elmokit.errors import InputError
from elmokit.files import open_input
from elmokit.lm.numbered_text import NumberedText


def read_lines(source: str | Path) -> Iterator[str]:
    """Give the lines of a UTF-8 file without their ends; ``-`` is standard input.

    Text packed by gzip, xz, bzip2 or zstd is unpacked on the way.
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
def _opened(source: str | Path) -> Iterator[BufferedReader]:
    try:
        with open_input(source) as stream:
            yield unpacked(stream, str(source))
    except ArchiveError as error:
        raise InputError(f"{source}: {error}; get the file again") from error
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error})") from error
