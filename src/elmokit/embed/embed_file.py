"""A text file in, a file of vectors out, whatever its size."""

import os
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_lines import Line, Vectors, embed_lines
from elmokit.embed.layer_choice import Layers
from elmokit.embed.progress import progress_bar
from elmokit.embed.writers import check_output, writing
from elmokit.errors import InputError
from elmokit.files import STANDARD_INPUT, open_input


@dataclass(frozen=True)
class EmbedSummary:
    """What was written."""

    output: str
    sentences: int
    tokens: int
    dim: int
    seconds: float


def embed_file(
    elmo: Elmo,
    source: str | Path,
    output: str | Path,
    *,
    layers: Layers = "average",
    tokenised: bool = False,
    float16: bool = False,
    batch_tokens: int | None = None,
    progress: bool = False,
    workers: int | None = None,
    devices: Sequence[str] | None = None,
) -> EmbedSummary:
    """Embed one sentence a line; empty lines keep their place.

    ``source`` may be ``-`` for standard input. With ``tokenised`` lines are split at white
    space, else they go through the model's tokeniser. ``workers`` or ``devices`` share the
    work as in `Elmo.embed`. Reading and writing go on while vectors are computed.
    """
    output = Path(output)
    size = _size(source)
    check_output(output, text_bytes=size)
    started = time.perf_counter()
    tokens = sentences = 0
    with ExitStack() as stack:
        writer = stack.enter_context(writing(output))
        bar = stack.enter_context(progress_bar()) if progress else None
        task = bar.add_task("Embedding", total=size or None) if bar else None

        def write(line: Line, vectors: Vectors) -> None:
            nonlocal tokens, sentences
            writer.write(line.text, line.tokens, vectors)
            sentences += 1
            tokens += len(line.tokens)
            if bar is not None and task is not None:
                bar.advance(task, line.size)

        embed_lines(
            elmo,
            _lines(_opened(source), str(source), elmo, tokenised=tokenised),
            write,
            layers=layers,
            float16=float16,
            batch_tokens=batch_tokens,
            workers=workers,
            devices=devices,
        )
    seconds = time.perf_counter() - started
    return EmbedSummary(str(output), sentences, tokens, elmo.dim, round(seconds, 3))


def check_source(source: str | Path) -> None:
    """Refuse a file that cannot be read, before any work is done."""
    # Not by opening it: a pipe can be read but once.
    path = Path(source)
    if str(source) == STANDARD_INPUT:
        return
    if not path.exists():
        raise InputError(f"{source}: no such file")
    if path.is_dir():
        raise InputError(f"{source}: is a folder, expected a text file")
    if not os.access(path, os.R_OK):
        raise InputError(f"{source}: cannot be read (permission denied)")


def _opened(source: str | Path) -> BinaryIO:
    try:
        return open_input(source)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror})") from error


def _size(source: str | Path) -> int:
    """Give the size of a text in bytes, or 0 where it is not known."""
    path = Path(source)
    known = str(source) != STANDARD_INPUT and path.is_file()
    return path.stat().st_size if known else 0


def _lines(
    stream: BinaryIO, name: str, elmo: Elmo, *, tokenised: bool
) -> Generator[Line, None, None]:
    """Cut a stream into lines; it is closed at the end.

    Not by whoever waits for the lines: closing it has to wait until reading is over.
    """
    with stream:
        for number, raw in enumerate(stream, start=1):
            text = decoded_line(raw, name, number)
            tokens = text.split() if tokenised else elmo.tokeniser.words(text)
            yield Line(number - 1, text, tokens, len(raw))


def decoded_line(raw: bytes, name: str, number: int) -> str:
    """Give a line's text without its end; ``number`` counts from 1 and is for the error."""
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        marked = len(raw) - len(error.object)  # a byte order mark is cut off before decoding
        raise InputError(
            f"{name}, line {number}: not UTF-8 (byte {error.start + marked} is "
            f"0x{error.object[error.start]:02x}); convert the file to UTF-8"
        ) from error
