"""A model from one format to another."""

from dataclasses import dataclass
from pathlib import Path

from elmokit.embed.load import PathLike, read_checkpoint
from elmokit.formats import detect
from elmokit.formats.storage import checked_storage


@dataclass(frozen=True)
class Conversion:
    """What was converted into what."""

    source: str
    source_format: str
    destination: str
    format: str
    tensors: int


def convert(
    source: PathLike,
    destination: PathLike,
    *,
    form: str | None = None,
    overwrite: bool = False,
    storage: str | None = None,
    options: PathLike | None = None,
    vocabulary: PathLike | None = None,
    token_embedding: PathLike | None = None,
) -> Conversion:
    """Write a model in another format; every tensor, the softmax included, keeps its values.

    ``form`` is ``"native"``, ``"bilm-hdf5"``, ``"many-langs"`` or ``"tf-checkpoint"``; the
    default is bilm-hdf5 for a destination ``*.hdf5`` and native for any other. A native folder
    is made smaller, its values rounded, by the ``storage`` ``"float16"`` or ``"int8"``.
    """
    if storage is not None:
        checked_storage(storage)
    checkpoint = read_checkpoint(
        source, options=options, vocabulary=vocabulary, token_embedding=token_embedding
    )
    written = detect.write(
        checkpoint, Path(destination), form=form, overwrite=overwrite, storage=storage
    )
    return Conversion(
        str(source),
        checkpoint.source_format,
        str(destination),
        written,
        len(checkpoint.tensors),
    )
