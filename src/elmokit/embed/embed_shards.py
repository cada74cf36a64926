"""Many text files in, a folder of Parquet shards out; a second run does what is missing."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmokit.embed.batching import check_batch_tokens
from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.embed_pieces import embed_pieces
from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.embed.parquet_writer import load_pyarrow
from elmokit.embed.progress import progress_bar
from elmokit.embed.shard_folder import ShardSettings, shards_to_make
from elmokit.embed.text_pieces import PIECE_BYTES, TextPiece, cut_files
from elmokit.errors import InputError


@dataclass(frozen=True)
class ShardsSummary:
    """What lies in the folder."""

    output: str
    shards: int
    made: int
    """Shards that were made by this call; the others were there."""
    sentences: int
    tokens: int
    dim: int
    seconds: float


@dataclass(frozen=True)
class ShardsPlan:
    """What is to be made, and whom to tell of it."""

    folder: Path
    missing: list[TextPiece]
    done: Callable[[TextPiece, int], None]
    """To be called with each piece whose shard is there, and its tokens; once is enough."""
    begun: float
    _made: dict[int, int]
    _pieces: list[TextPiece]
    _dim: int

    def summary(self) -> ShardsSummary:
        """Say what has been made so far."""
        there = [piece for piece in self._pieces if piece.number in self._made]
        return ShardsSummary(
            output=str(self.folder),
            shards=len(there),
            made=len(there) - len(self._pieces) + len(self.missing),
            sentences=sum(piece.lines for piece in there),
            tokens=sum(self._made.values()),
            dim=self._dim,
            seconds=round(time.perf_counter() - self.begun, 3),
        )


def embed_shards(
    elmo: Elmo,
    sources: Sequence[str | Path],
    folder: str | Path,
    *,
    layers: Layers = "average",
    tokenised: bool = False,
    float16: bool = False,
    batch_tokens: int | None = None,
    shard_bytes: int = PIECE_BYTES,
    progress: bool = False,
    workers: int | None = None,
    devices: Sequence[str] | None = None,
) -> ShardsSummary:
    """Embed one sentence a line of each file; a shard has the lines of ``shard_bytes`` of text.

    The columns are those of a single Parquet file, where ``index`` is the line in its file, and
    before them ``id``, the line among all, and ``source``, the file. Stopped at any moment, the
    same call does what is missing. Other settings or changed files are an error.
    """
    with planned_shards(
        elmo,
        sources,
        Path(folder),
        layers=layers,
        dtype=elmo.dtype,
        tokenised=tokenised,
        float16=float16,
        batch_tokens=batch_tokens,
        shard_bytes=shard_bytes,
        progress=progress,
    ) as plan:
        if plan.missing:
            embed_pieces(
                elmo,
                plan.missing,
                plan.folder,
                done=plan.done,
                layers=layers,
                tokenised=tokenised,
                float16=float16,
                batch_tokens=batch_tokens,
                workers=workers,
                devices=devices,
            )
        return plan.summary()


@contextmanager
def planned_shards(
    elmo: Elmo,
    sources: Sequence[str | Path],
    folder: Path,
    *,
    layers: Layers,
    dtype: str,
    tokenised: bool,
    float16: bool,
    batch_tokens: int | None,
    shard_bytes: int,
    progress: bool,
) -> Iterator[ShardsPlan]:
    """Check all that can be checked, and say what is to be made; the folder is ours meanwhile."""
    begun = time.perf_counter()
    load_pyarrow()
    if elmo.start == "carry":
        raise InputError(
            "start: a state that is carried from sentence to sentence makes shards depend on each "
            "other; load the model with start='warm' or 'zeros', found 'carry'"
        )
    LayerChoice(layers, count=elmo.layer_count, dim=elmo.dim)
    check_batch_tokens(batch_tokens)
    found, pieces = cut_files(sources, piece_bytes=shard_bytes)
    settings = ShardSettings(
        model=str(elmo.metadata.get("name", elmo.source_format)),
        model_sha256=_identity(elmo),
        layers=_plain(layers),
        dtype=dtype,
        float16=float16,
        tokenised=tokenised,
        start=elmo.start,
        shard_bytes=shard_bytes,
    )
    with ExitStack() as stack:
        made = stack.enter_context(shards_to_make(folder, settings, found, pieces))
        bar = stack.enter_context(progress_bar()) if progress else None
        task = bar.add_task("Embedding", total=sum(s.size for s in found) or None) if bar else None

        def advance(piece: TextPiece) -> None:
            if bar is not None and task is not None:
                bar.advance(task, piece.end - piece.start)

        def done(piece: TextPiece, tokens: int) -> None:
            if piece.number not in made:
                advance(piece)
            made[piece.number] = tokens

        for piece in pieces:
            if piece.number in made:
                advance(piece)
        missing = [piece for piece in pieces if piece.number not in made]
        yield ShardsPlan(folder, missing, done, begun, made, pieces, elmo.dim)


def _identity(elmo: Elmo) -> str:
    """Tell models apart by all that their vectors depend on."""
    digest = hashlib.sha256(elmo_identity(elmo).encode())
    words = elmo.vocabulary.words if elmo.vocabulary and elmo.config.words else ()
    digest.update(repr((elmo.config, words, elmo.characters)).encode())
    return digest.hexdigest()


def _plain(layers: Layers) -> str | int | list[float]:
    """Give a choice of layers as JSON has it."""
    if isinstance(layers, str):
        return layers
    if isinstance(layers, int | np.integer):
        return int(layers)
    return [float(weight) for weight in layers]
