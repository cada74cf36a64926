"""Pieces of text in, one shard each out; reading and writing go on while vectors are computed."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_lines import Line, Vectors, embed_lines
from elmokit.embed.layer_choice import Layers
from elmokit.embed.shard_folder import shard_file
from elmokit.embed.shard_writer import ShardWriter
from elmokit.embed.text_pieces import TextPiece, piece_lines
from elmokit.files import replacing_file

Done = Callable[[TextPiece, int], None]


@dataclass(frozen=True)
class _PieceLine(Line):
    piece: TextPiece


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
    with _Shards(folder, done) as shards:
        embed_lines(
            elmo,
            _lines(pieces, elmo, tokenised=tokenised),
            shards.write,
            layers=layers,
            float16=float16,
            batch_tokens=batch_tokens,
            workers=workers,
            devices=devices,
        )


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

    def write(self, line: _PieceLine, vectors: Vectors) -> None:
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
) -> Generator[_PieceLine, None, None]:
    for piece in pieces:
        for place, (text, size) in enumerate(piece_lines(piece)):
            tokens = text.split() if tokenised else elmo.tokeniser.words(text)
            yield _PieceLine(piece.first_index + place, text, tokens, size, piece)
