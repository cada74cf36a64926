"""Which format is it? One way in and one way out for all of them."""

from collections.abc import Callable
from pathlib import Path

from elmokit.errors import FormatError, InputError
from elmokit.files import MANIFEST_FILE, exists, is_file, looks_like
from elmokit.formats import bilm_hdf5, many_langs, native, tf_checkpoint
from elmokit.formats.checkpoint import Checkpoint
from elmokit.formats.storage import checked_storage

WRITERS: dict[str, Callable[..., None]] = {
    native.NAME: native.write,
    bilm_hdf5.NAME: bilm_hdf5.write,
    many_langs.NAME: many_langs.write,
    tf_checkpoint.NAME: tf_checkpoint.write,
}


def read(
    source: Path,
    *,
    options: Path | None = None,
    vocabulary: Path | None = None,
    token_embedding: Path | None = None,
    softmax: bool = True,
) -> Checkpoint:
    """Read a model of any format; the format is told from the files.

    ``options``, ``vocabulary`` and ``token_embedding`` name files that do not lie where they
    are looked for; ``softmax=False`` leaves the language model's output layer unread.
    """
    form = detect(source)
    given = {"options": options, "vocabulary": vocabulary, "token_embedding": token_embedding}
    taken = {
        bilm_hdf5.NAME: {"options", "vocabulary", "token_embedding"},
        tf_checkpoint.NAME: {"options", "vocabulary"},
    }.get(form, set())
    for name, value in given.items():
        if value is not None and name not in taken:
            raise InputError(f"{name}: {source} is in the {form} format, which takes no such file")
    if form == native.NAME:
        return native.read(source if source.is_dir() else source.parent, softmax=softmax)
    if form == many_langs.NAME:
        return many_langs.read(source if source.is_dir() else source.parent)
    if form == tf_checkpoint.NAME:
        return tf_checkpoint.read(source, options=options, vocabulary=vocabulary, softmax=softmax)
    return bilm_hdf5.read(
        source,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        softmax=softmax,
    )


def write(
    checkpoint: Checkpoint,
    destination: Path,
    *,
    form: str | None = None,
    overwrite: bool = False,
    storage: str | None = None,
) -> str:
    """Write a model; ``form`` defaults to bilm-hdf5 for ``*.hdf5``, else to native.

    ``storage`` is the native format's: float32 if None. Gives the name of the format that was
    written.
    """
    if form is None:
        form = bilm_hdf5.NAME if destination.suffix in bilm_hdf5.SUFFIXES else native.NAME
    if form not in WRITERS:
        raise InputError(f"format: expected one of {', '.join(WRITERS)}, found {form!r}")
    if storage is None:
        WRITERS[form](checkpoint, destination, overwrite=overwrite)
        return form
    if form != native.NAME:
        raise InputError(
            f"storage: only the {native.NAME} format has a choice, found {storage!r} for {form}"
        )
    native.write(checkpoint, destination, overwrite=overwrite, storage=checked_storage(storage))
    return form


def detect(source: Path) -> str:
    """Name the format of a folder or a file."""
    if exists(source) and source.is_dir():
        return _detect_folder(source)
    if is_file(Path(f"{source}{tf_checkpoint.INDEX_SUFFIX}")):
        return tf_checkpoint.NAME
    if not exists(source):
        raise FormatError(source, "no such file or folder")
    if not is_file(source):
        raise FormatError(source, "is neither a file nor a folder")
    if source.suffix in bilm_hdf5.SUFFIXES:
        return bilm_hdf5.NAME
    if source.name.endswith(tf_checkpoint.INDEX_SUFFIX) or ".data-" in source.name:
        return tf_checkpoint.NAME
    if source.parent.is_dir() and source.name in (
        native.CONFIG_FILE,
        native.WEIGHTS_FILE,
        native.SOFTMAX_FILE,
        MANIFEST_FILE,
        bilm_hdf5.OPTIONS_FILE,
        many_langs.ENCODER_FILE,
        many_langs.EMBEDDER_FILE,
    ):
        raise FormatError(source, "is one file of a model", hint=f"name its folder {source.parent}")
    raise FormatError(source, "is not a model file that elmokit knows", found=looks_like(source))


def _detect_folder(folder: Path) -> str:
    if (folder / MANIFEST_FILE).is_file() or (folder / native.WEIGHTS_FILE).is_file():
        return native.NAME
    if (folder / many_langs.ENCODER_FILE).is_file():
        return many_langs.NAME
    if any(file for suffix in bilm_hdf5.SUFFIXES for file in folder.glob(f"*{suffix}")):
        return bilm_hdf5.NAME
    if any(folder.glob(f"*{tf_checkpoint.INDEX_SUFFIX}")):
        return tf_checkpoint.NAME
    names = ", ".join(sorted(file.name for file in folder.iterdir())[:8]) or "nothing"
    raise FormatError(
        folder,
        "holds no model that elmokit knows",
        found=names,
        expected="model.safetensors, *.hdf5, encoder.pkl or *.index",
    )
