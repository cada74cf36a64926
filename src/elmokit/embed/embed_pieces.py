"""Pieces of text in, one shard each out; reading and writing go on while vectors are computed."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_file import BYTES_AHEAD, BYTES_BEHIND, BYTES_PER_LINE
from elmokit.embed.half import as_float16
from elmokit.embed.layer_choice import Layers
from elmokit.embed.overlap import reading_ahead, writing_behind
from elmokit.embed.shard_folder import shard_file
from elmokit.embed.shard_writer import ShardWriter
from elmokit.embed.text_pieces import TextPiece, piece_lines
from elmokit.files import replacing_file

Done = Callable[[TextPiece, int], None]


@dataclass(frozen=True)
class _Line:
    piece: TextPiece
    index: int
    text: str
    tokens: list[str]
    size: int


_Embedded = tuple[_Line, npt.NDArray[np.floating]]


def embed_pieces(
    elmo: Elmo,
    pieces: Iterable[TextPiece],
    folder: Path,
    *,
    done: Done,
    layers: Layers = "average",
    tokenised: bool = False,
    float16: bool = False,
    batch_tokens: int | None = None,
    workers: int | None = None,
    devices: Sequence[str] | None = None,
) -> None:
    """Write the shard of each piece, and call ``done`` with its tokens when it is there.

    Lines of different pieces are computed together. A shard appears under its name only when it
    is complete.
    """
    with ExitStack() as stack:
        lines = stack.enter_context(
            reading_ahead(
                _lines(pieces, elmo, tokenised=tokenised), weigh=_line_bytes, most=BYTES_AHEAD
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
        shards = stack.enter_context(_Shards(folder, done))
        put = stack.enter_context(
            writing_behind(shards.write, weigh=_item_bytes, most=BYTES_BEHIND)
        )
        for vectors in embedded:
            line = pending.popleft()
            put((line, as_float16(vectors, line.index) if float16 else vectors))


class _Shards:
    """Writes lines that come in order to the shards that they belong to, one after another."""

    def __init__(self, folder: Path, done: Done) -> None:
        self._folder = folder
        self._done = done
        self._opened = ExitStack()
        self._writer: ShardWriter | None = None
        self._rows = self._tokens = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave nothing of a shard that is not complete."""
        self._opened.__exit__(kind, error, traceback)

    def write(self, item: _Embedded) -> None:
        line, vectors = item
        if self._writer is None:
            partial = self._opened.enter_context(
                replacing_file(shard_file(self._folder, line.piece))
            )
            self._writer = ShardWriter(partial, line.piece)
            self._opened.callback(self._writer.close)
            self._rows = self._tokens = 0
        self._writer.write(line.text, line.tokens, vectors)
        self._rows += 1
        self._tokens += len(line.tokens)
        if self._rows == line.piece.lines:
            self._writer.finish_with(self._tokens)
            self._writer = None
            self._opened.close()
            self._done(line.piece, self._tokens)


def _lines(
    pieces: Iterable[TextPiece], elmo: Elmo, *, tokenised: bool
) -> Generator[_Line, None, None]:
    for piece in pieces:
        for place, (text, size) in enumerate(piece_lines(piece)):
            tokens = text.split() if tokenised else elmo.tokeniser.words(text)
            yield _Line(piece, piece.first_index + place, text, tokens, size)


def _line_bytes(line: _Line) -> int:
    return line.size + BYTES_PER_LINE


def _item_bytes(item: _Embedded) -> int:
    line, vectors = item
    return vectors.nbytes + _line_bytes(line)
