"""A text file in, a file of vectors out, whatever its size."""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from elmokit.embed.batching import DEFAULT_BATCH_TOKENS
from elmokit.embed.elmo import Elmo
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


@dataclass(frozen=True)
class _Line:
    text: str
    tokens: list[str]
    size: int


def embed_file(
    elmo: Elmo,
    source: str | Path,
    output: str | Path,
    *,
    layers: Layers = "average",
    tokenised: bool = False,
    float16: bool = False,
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
    progress: bool = False,
) -> EmbedSummary:
    """Embed one sentence a line; empty lines keep their place.

    ``source`` may be ``-`` for standard input. With ``tokenised`` lines are split at white
    space, else they go through the model's tokeniser.
    """
    output = Path(output)
    check_output(output)
    started = time.perf_counter()
    tokens = sentences = 0
    with ExitStack() as stack:
        stream = stack.enter_context(_opened(source))
        total = None if str(source) == STANDARD_INPUT else Path(source).stat().st_size
        pending: deque[_Line] = deque()

        def token_lists() -> Iterator[list[str]]:
            for line in _lines(stream, str(source), elmo, tokenised=tokenised):
                pending.append(line)
                yield line.tokens

        embedded = elmo.embed_iter(token_lists(), layers=layers, batch_tokens=batch_tokens)
        writer = stack.enter_context(writing(output, float16=float16))
        bar = stack.enter_context(progress_bar()) if progress else None
        task = bar.add_task("Embedding", total=total) if bar else None
        for vectors in embedded:
            line = pending.popleft()
            writer.write(line.text, line.tokens, vectors)
            sentences += 1
            tokens += len(line.tokens)
            if bar is not None and task is not None:
                bar.advance(task, line.size)
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


def _lines(stream: BinaryIO, name: str, elmo: Elmo, *, tokenised: bool) -> Iterator[_Line]:
    for number, raw in enumerate(stream, start=1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            marked = len(raw) - len(error.object)  # a byte order mark is cut off before decoding
            raise InputError(
                f"{name}, line {number}: not UTF-8 (byte {error.start + marked} is "
                f"0x{error.object[error.start]:02x}); convert the file to UTF-8"
            ) from error
        tokens = text.split() if tokenised else elmo.tokeniser.words(text)
        yield _Line(text, tokens, len(raw))
