"""What a Ray actor holds and does: one copy of the model, one shard after another."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.embed.shard_folder import MANIFEST_FILE, shard_file
from elmokit.embed.text_pieces import TextPiece
from elmokit.errors import ElmoError, InputError
from elmokit.formats.checkpoint import Checkpoint

# Ray begins a task anew, for ever, if its process dies. A machine that is lost is no fault of the
# text; a text that ends five processes is.
MOST_ATTEMPTS = 5

PackedModel = tuple[Checkpoint, dict[str, npt.NDArray[np.float32]]]


@dataclass(frozen=True)
class ActorSettings:
    """What every shard of a run has in common."""

    folder: str
    device: str
    dtype: str
    start: Any
    threads: int
    layers: Any
    tokenised: bool
    float16: bool
    batch_tokens: int | None


def packed(checkpoint: Checkpoint) -> PackedModel:
    """Lay a model out so that the processes of a machine share its numbers in memory."""
    arrays = {name: tensor.numpy() for name, tensor in checkpoint.tensors.items()}
    return replace(checkpoint, tensors={}), arrays


class ShardActor:
    """Makes the shards of the pieces that it is called with.

    A mistake of the user goes back as a row, with our message and no more.
    """

    def __init__(self, model: Any, settings: ActorSettings) -> None:
        """``model`` refers to a `PackedModel` in Ray's object store."""
        self._model = model
        self._settings = settings
        self._elmo: Any = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Make one shard; say its number and its tokens, or what went wrong."""
        piece = _piece_of(row)
        try:
            return {"number": piece.number, "tokens": self._made(piece), "error": ""}
        except (ElmoError, OSError) as error:
            place = f"{piece.source}, lines {piece.first_index + 1} to "
            place += f"{piece.first_index + piece.lines}, on {platform.node()}"
            return {"number": piece.number, "tokens": 0, "error": f"{error} ({place})"}

    def _made(self, piece: TextPiece) -> int:
        from elmokit.embed.embed_pieces import embed_pieces
        from elmokit.embed.shard_writer import shard_tokens

        settings = self._settings
        folder = Path(settings.folder)
        if not (folder / MANIFEST_FILE).is_file():
            raise InputError(
                f"output: {folder} is not there; every machine that takes part must see it under "
                "the same path, as on a shared disk"
            )
        file = shard_file(folder, piece)
        there = shard_tokens(file, piece)
        if there is not None:
            return there  # Ray has lost nothing but our answer
        attempts = file.with_name(f".{file.stem}.attempts")
        _count(attempts)
        found: list[int] = []
        embed_pieces(
            self._loaded(),
            [piece],
            folder,
            done=lambda _, tokens: found.append(tokens),
            layers=settings.layers,
            tokenised=settings.tokenised,
            float16=settings.float16,
            batch_tokens=settings.batch_tokens,
        )
        attempts.unlink(missing_ok=True)
        return found[0]

    def _loaded(self) -> Any:
        if self._elmo is None:
            import ray
            import torch

            from elmokit.embed.elmo import Elmo

            settings = self._settings
            torch.set_num_threads(settings.threads)
            facts, arrays = ray.get(self._model)
            # Copied, because what Ray shares may not be written to, and torch minds.
            tensors = {name: torch.tensor(array) for name, array in arrays.items()}
            self._elmo = Elmo(
                replace(facts, tensors=tensors),
                device=settings.device,
                dtype=settings.dtype,
                start=settings.start,
            )
        return self._elmo


def _piece_of(row: Mapping[str, Any]) -> TextPiece:
    values = {field.name: row[field.name] for field in fields(TextPiece)}
    # Ray gives numbers as numpy has them, which JSON does not take.
    return TextPiece(
        **{name: v.item() if isinstance(v, np.generic) else v for name, v in values.items()}
    )


def _count(attempts: Path) -> None:
    with attempts.open("ab") as stream:
        stream.write(b".")
        tries = stream.tell()
    if tries > MOST_ATTEMPTS:
        raise InputError(
            f"the process that embedded this died {MOST_ATTEMPTS} times, perhaps for lack of "
            "memory; use fewer actors a machine (more num_cpus), or a smaller batch_tokens"
        )
