"""A text file in, a file of vectors out, whatever its size."""

import os
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from elmokit.embed.elmo import Elmo
from elmokit.embed.half import as_float16
from elmokit.embed.layer_choice import Layers
from elmokit.embed.overlap import reading_ahead, writing_behind
from elmokit.embed.progress import progress_bar
from elmokit.embed.writers import check_output, writing
from elmokit.errors import InputError
from elmokit.files import STANDARD_INPUT, open_input

# Text that is read before it is wanted; its tokens take twenty times as much memory.
BYTES_AHEAD = 2**20
# Vectors that wait to be written: as many as one window of a large model has.
BYTES_BEHIND = 128 * 2**20
BYTES_PER_LINE = 100  # beside its text


@dataclass(frozen=True)
class EmbedSummary:
    """What was written."""

    output: str
    sentences: int
    tokens: int
    dim: int
    seconds: float


@dataclass(frozen=True)
class _Line:
    text: str
    tokens: list[str]
    size: int


_Embedded = tuple[_Line, npt.NDArray[np.floating]]


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
        lines = stack.enter_context(
            reading_ahead(
                _lines(_opened(source), str(source), elmo, tokenised=tokenised),
                weigh=_line_bytes,
                most=BYTES_AHEAD,
            )
        )
        pending: deque[_Line] = deque()

        def token_lists() -> Iterator[list[str]]:
            for line in lines:
                pending.append(line)
                yield line.tokens

        embedded = elmo.embed_iter(
            token_lists(), layers=layers, batch_tokens=batch_tokens, workers=workers, device=devices
        )
        # Processes that share the work would compute on after an error.
        stack.callback(cast(Generator[Any, None, None], embedded).close)
        writer = stack.enter_context(writing(output))
        bar = stack.enter_context(progress_bar()) if progress else None
        task = bar.add_task("Embedding", total=size or None) if bar else None

        def write(item: _Embedded) -> None:
            line, vectors = item
            writer.write(line.text, line.tokens, vectors)
            if bar is not None and task is not None:
                bar.advance(task, line.size)

        put = stack.enter_context(writing_behind(write, weigh=_item_bytes, most=BYTES_BEHIND))
        for vectors in embedded:
            line = pending.popleft()
            # Here and not in the writer's thread, where torch would start as many threads again.
            put((line, as_float16(vectors, sentences) if float16 else vectors))
            sentences += 1
            tokens += len(line.tokens)
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


def _line_bytes(line: _Line) -> int:
    return line.size + BYTES_PER_LINE


def _item_bytes(item: _Embedded) -> int:
    line, vectors = item
    return vectors.nbytes + _line_bytes(line)


def _lines(
    stream: BinaryIO, name: str, elmo: Elmo, *, tokenised: bool
) -> Generator[_Line, None, None]:
    """Cut a stream into lines; it is closed at the end.

    Not by whoever waits for the lines: closing it has to wait until reading is over.
    """
    with stream:
        for number, raw in enumerate(stream, start=1):
            text = decoded_line(raw, name, number)
            tokens = text.split() if tokenised else elmo.tokeniser.words(text)
            yield _Line(text, tokens, len(raw))


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
