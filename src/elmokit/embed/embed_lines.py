"""Lines in, their vectors handed on; reading and writing go on while vectors are computed."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from elmokit.embed.elmo import Elmo
from elmokit.embed.half import as_float16
from elmokit.embed.layer_choice import Layers
from elmokit.embed.overlap import reading_ahead, writing_behind

# Text that is read before it is wanted; its tokens take twenty times as much memory.
BYTES_AHEAD = 2**20
# Vectors that wait to be written: as many as one window of a large model has.
BYTES_BEHIND = 128 * 2**20
BYTES_PER_LINE = 100  # beside its text


@dataclass(frozen=True)
class Line:
    """A line of text; ``index`` counts from 0, ``size`` is in bytes."""

    index: int
    text: str
    tokens: list[str]
    size: int


AnyLine = TypeVar("AnyLine", bound=Line)
Vectors = npt.NDArray[np.floating]


def embed_lines(
    elmo: Elmo,
    lines: Generator[AnyLine, None, None],
    write: Callable[[AnyLine, Vectors], None],
    *,
    layers: Layers = "average",
    float16: bool = False,
    batch_tokens: int | None = None,
    workers: int | None = None,
    devices: Sequence[str] | None = None,
) -> None:
    """Call ``write`` with each line and its vectors, in order, in a thread of its own."""
    with ExitStack() as stack:
        ready = stack.enter_context(reading_ahead(lines, weigh=_line_bytes, most=BYTES_AHEAD))
        pending: deque[AnyLine] = deque()

        def token_lists() -> Iterator[list[str]]:
            for line in ready:
                pending.append(line)
                yield line.tokens

        embedded = elmo.embed_iter(
            token_lists(), layers=layers, batch_tokens=batch_tokens, workers=workers, device=devices
        )
        # Processes that share the work would compute on after an error.
        stack.callback(cast(Generator[Any, None, None], embedded).close)

        def write_item(item: tuple[AnyLine, Vectors]) -> None:
            write(*item)

        put = stack.enter_context(writing_behind(write_item, weigh=_item_bytes, most=BYTES_BEHIND))
        for vectors in embedded:
            line = pending.popleft()
            # Here and not in the writer's thread, where torch would start as many threads again.
            put((line, as_float16(vectors, line.index) if float16 else vectors))


def _line_bytes(line: Line) -> int:
    return line.size + BYTES_PER_LINE


def _item_bytes(item: tuple[Line, Vectors]) -> int:
    line, vectors = item
    return vectors.nbytes + _line_bytes(line)
