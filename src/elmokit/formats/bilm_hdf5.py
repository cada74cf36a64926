"""bilm-tf and AllenNLP: an options.json and a weights file in HDF5.

The weights file holds a character model or a word model. Beside it may lie token embeddings
dumped for a vocabulary, the softmax (or it is inside), and a vocabulary with one word a line.
Which file is which is told by what is in it, not by its name.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

from elmokit.config import BYTE_ALPHABET_SIZE, ModelConfig
from elmokit.errors import ElmoError, FormatError, InputError
from elmokit.files import (
    exists_error,
    looks_like,
    read_json,
    read_text,
    replacing_file,
    replacing_folder,
    write_json,
    write_text,
)
from elmokit.formats.bilm_arrays import (
    Array,
    Entry,
    arrays_from,
    as_float32,
    check_character_rows,
    check_no_others,
    entries,
    tensors_from,
)
from elmokit.formats.bilm_options import (
    check_writable,
    config_from_options,
    metadata_from_options,
    options_from_config,
)
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint, Shape
from elmokit.text.vocabulary import Vocabulary

NAME = "bilm-hdf5"
SUFFIXES = (".hdf5", ".h5")

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "weights.hdf5"
VOCABULARY_FILE = "vocab.txt"
MOST_CHARACTER_NUMBERS = 2**16
# A line of the 1 Billion Word vocabulary that is no word and has no id.
IGNORED_LINE = "!!!MAXTERMID"


@dataclass(frozen=True)
class _Files:
    options: Path
    weights: Path
    embedding: Path | None
    softmax: Path | None


def read(
    source: Path,
    *,
    options: Path | None = None,
    vocabulary: Path | None = None,
    token_embedding: Path | None = None,
    softmax: bool = True,
) -> Checkpoint:
    """Read a folder or a weights file; what is not given is looked for beside it.

    ``token_embedding`` replaces the character input by embeddings dumped for a vocabulary.
    """
    files = _find_files(source, options)
    settings = read_json(files.options)
    with _opened(files.weights) as weights:
        names = set(weights)  # by listing: looking a name up would follow a link
    by_characters = token_embedding is None and "char_embed" in names
    embedding_file = files.weights if "embedding" in names else files.embedding
    if token_embedding is not None:
        embedding_file = token_embedding
    softmax_file = files.weights if "softmax" in names else files.softmax
    if not softmax:
        softmax_file = None
    if not by_characters and embedding_file is None:
        key = "char_embed" if "char_cnn" in settings else "embedding"
        raise FormatError(files.weights, "array missing", key=key)

    places = {"embedding": embedding_file, "softmax/W": softmax_file, "softmax/b": softmax_file}
    characters = _read_characters(files.weights) if by_characters else None
    config = config_from_options(
        settings,
        files.options,
        alphabet_size=None if characters is None else len(characters),
        vocabulary_size=None
        if by_characters or embedding_file is None
        else _row_count(embedding_file, "embedding"),
        softmax_size=None if softmax_file is None else _row_count(softmax_file, "softmax/b"),
    )

    def read_entry(entry: Entry) -> Array:
        if entry.name == "char_embed":
            assert characters is not None
            _check_shape(characters.shape, entry, files.weights)
            return characters
        file = places.get(entry.name) or files.weights
        return _read_array(file, entry, settings, array_names[file])

    array_names = {file: _array_names(file) for file in {files.weights, *places.values()} if file}
    known = {entry.name for entry in entries(config)}
    known |= {_short_name(name) for name in known}
    check_no_others(array_names[files.weights], known, files.weights, by_characters=by_characters)
    tensors = tensors_from(config, read_entry)
    vocabulary = vocabulary or find_vocabulary(config, files.weights.parent)
    return Checkpoint(
        config=config,
        tensors=tensors,
        vocabulary=None if vocabulary is None else read_vocabulary(vocabulary),
        metadata=metadata_from_options(settings, files.options),
        source_format=NAME,
    ).validated(files.weights, config_file=files.options, vocabulary_file=vocabulary)


def write(checkpoint: Checkpoint, destination: Path, *, overwrite: bool = False) -> None:
    """Write a weights file with options.json and vocab.txt beside it, or a folder of them.

    The softmax goes inside the weights file, where older readers pass it over.
    """
    checkpoint = checkpoint.without_start_state()
    check_writable(checkpoint.config, NAME)
    _check_first_row(checkpoint)
    if destination.suffix not in SUFFIXES:
        with replacing_folder(destination, overwrite=overwrite, replaceable=MODEL_FILES) as partial:
            _write_files(
                checkpoint,
                weights=partial / WEIGHTS_FILE,
                options=partial / OPTIONS_FILE,
                vocabulary=partial / VOCABULARY_FILE,
            )
        return
    folder = destination.absolute().parent
    companions = [OPTIONS_FILE] + ([VOCABULARY_FILE] if checkpoint.vocabulary is not None else [])
    for file in (destination, *(folder / name for name in companions)):
        if file.exists() and not overwrite:
            raise exists_error(file)
    with ExitStack() as stack:
        partials = {name: stack.enter_context(replacing_file(folder / name)) for name in companions}
        _write_files(
            checkpoint,
            weights=stack.enter_context(replacing_file(destination)),
            options=partials[OPTIONS_FILE],
            vocabulary=partials.get(VOCABULARY_FILE, folder / VOCABULARY_FILE),
        )


def _write_files(checkpoint: Checkpoint, *, weights: Path, options: Path, vocabulary: Path) -> None:
    with h5py.File(weights, "w") as file:
        for entry, array in arrays_from(checkpoint.config, checkpoint.tensors):
            file.create_dataset(entry.name, data=array)
    if checkpoint.vocabulary is not None:
        write_vocabulary(vocabulary, checkpoint.vocabulary)
    write_json(options, options_from_config(checkpoint.config, checkpoint.metadata))


def _check_first_row(checkpoint: Checkpoint) -> None:
    """Refuse 262 characters whose first is all zeros: readers take that row for padding."""
    name = "token_encoder.characters.embedding.weight"
    table = checkpoint.tensors.get(name)
    if table is not None and len(table) > BYTE_ALPHABET_SIZE and not table[0].any():
        raise InputError(f"the {NAME} format cannot express a {name} with zeros in its first row")


def read_vocabulary(file: Path) -> Vocabulary:
    """Read one word a line, white space around it cut off as the original does."""
    text = read_text(file)
    lines = text.removesuffix("\n").split("\n") if text else []
    words = (line.strip() for line in lines)
    return Vocabulary(word for word in words if word != IGNORED_LINE)


def write_vocabulary(file: Path, vocabulary: Vocabulary) -> None:
    """Write one word a line."""
    for word in vocabulary.words:
        if word != word.strip() or "\n" in word or word == IGNORED_LINE:
            raise InputError(f"a word that readers cut or pass over cannot be written: {word!r}")
    write_text(file, "".join(f"{word}\n" for word in vocabulary.words))


def find_vocabulary(config: ModelConfig, folder: Path) -> Path | None:
    """Find the folder's one vocabulary file, where the model has a use for it.

    Word input cannot do without one; a softmax can be read and kept without its words.
    """
    found = sorted(folder.glob("*vocab*.txt"))
    if config.words is None and (config.softmax_size is None or not found):
        return None
    return _only(found, folder, "vocabulary file", "vocabulary=")


def find_options(folder: Path) -> Path:
    """Find the one options file of a folder."""
    exact = folder / OPTIONS_FILE
    if exact.is_file():
        return exact
    return _only(sorted(folder.glob("*options*.json")), folder, "options file", "options=")


def _find_files(source: Path, options: Path | None) -> _Files:
    folder = source if source.is_dir() else source.parent
    kinds: dict[str, list[Path]] = {"weights": [], "embedding": [], "softmax": []}
    broken: list[FormatError] = []
    for file in sorted(f for suffix in SUFFIXES for f in folder.glob(f"*{suffix}")):
        if file == source:
            continue
        try:
            kind = _kind(file)
        except FormatError as error:
            # A broken neighbour must not keep a good model from loading.
            broken.append(error)
            continue
        if kind:
            kinds[kind].append(file)
    if source.is_dir():
        if broken and not kinds["weights"]:
            raise broken[0]
        weights = _only(kinds["weights"], folder, "weights file", "weights=")
    else:
        weights = source
        if _kind(source) != "weights":
            raise FormatError(source, "array missing", key="RNN_0", hint="this is no biLM")
    if options is None:
        named = weights.with_name(f"{weights.stem.replace('weights', 'options')}.json")
        options = named if named.is_file() else find_options(folder)
    # With several models in a folder nobody can tell whose the companions are.
    alone = not [file for file in kinds["weights"] if file != weights]
    return _Files(
        options=options,
        weights=weights,
        embedding=_single(kinds["embedding"]) if alone else None,
        softmax=_single(kinds["softmax"]) if alone else None,
    )


def _kind(file: Path) -> str | None:
    with _opened(file) as opened:
        names = set(opened)
    if "RNN_0" in names:
        return "weights"
    if names == {"embedding"}:
        return "embedding"
    return "softmax" if "softmax" in names else None


def _only(files: list[Path], folder: Path, what: str, argument: str) -> Path:
    if not files:
        raise FormatError(folder, f"no {what} in this folder", hint=f"name it with {argument}")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise FormatError(folder, f"more than one {what}: {names}", hint=f"choose with {argument}")
    return files[0]


def _single(files: list[Path]) -> Path | None:
    return files[0] if len(files) == 1 else None


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """Open an HDF5 file; whatever the library raises on damaged bytes becomes our error."""
    if not file.is_file():
        raise FormatError(file, "no such file")
    if not h5py.is_hdf5(file):
        raise FormatError(file, "is not HDF5", found=looks_like(file))
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except ElmoError:
        raise
    except Exception as error:
        raise FormatError(file, f"is damaged or not HDF5 ({error})") from error


def _dataset(opened: Any, name: str, file: Path) -> Any:
    """Give a dataset that lies in this very file, whole."""
    node = opened
    for part in name.split("/"):
        if not isinstance(node, h5py.Group) or part not in set(node):
            raise FormatError(file, "array missing", key=name)
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            raise FormatError(file, "array is a link to somewhere else", key=name)
        node = node[part]
    if not isinstance(node, h5py.Dataset):
        raise FormatError(file, "wrong content", key=name, expected="an array")
    if node.dtype.kind != "f":
        raise FormatError(
            file, "wrong number type", key=name, found=node.dtype, expected="floating point"
        )
    if node.external or node.is_virtual:
        raise FormatError(file, "array is stored in another file", key=name)
    if not _is_stored(node):
        raise FormatError(file, "array is not fully stored", key=name)
    return node


def _is_stored(dataset: Any) -> bool:
    """Say whether every number has its place in the file; HDF5 fills gaps without a word."""
    if dataset.chunks is None:
        return bool(dataset.id.get_storage_size() == dataset.size * dataset.dtype.itemsize)
    chunks = (-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    return bool(dataset.id.get_num_chunks() == math.prod(chunks))


def _array_names(file: Path) -> set[str]:
    """List every dataset of a file without following a link."""
    names: set[str] = set()

    def visit(name: str | bytes, node: Any) -> None:
        if isinstance(name, bytes):  # how h5py gives names that are no UTF-8
            name = name.decode("utf-8", "backslashreplace")
        if isinstance(node, h5py.Dataset):
            names.add(name)

    with _opened(file) as opened:
        opened.visititems(visit)
    return names


def _short_name(name: str) -> str:
    """Leave out the level of the multi-layer cell, as trainings with one layer do."""
    return name.replace("MultiRNNCell/Cell0/", "")


def _read_array(file: Path, entry: Entry, options: dict[str, Any], names: set[str]) -> Array:
    name = entry.name
    if name not in names:
        short = _short_name(name)
        if short in names and options["lstm"].get("n_layers", 1) == 1:
            name = short
        elif name == "softmax/W" and options.get("share_embedding_softmax"):
            name = "embedding"
    with _opened(file) as opened:
        dataset = _dataset(opened, name, file)
        _check_shape(dataset.shape, entry, file)
        return as_float32(dataset[()])


def _check_shape(found: Shape, entry: Entry, file: Path) -> None:
    if tuple(found) != entry.shape:
        raise FormatError(
            file,
            "array of the wrong shape",
            key=entry.name,
            found=tuple(found),
            expected=f"{entry.shape} by the options",
        )


def _row_count(file: Path, name: str) -> int:
    with _opened(file) as opened:
        shape = _dataset(opened, name, file).shape
        if not shape or not shape[0]:
            raise FormatError(file, "array is empty", key=name, found=shape)
        return int(shape[0])


def _read_characters(file: Path) -> Array:
    """Read the character embedding: 261 rows, or 262 with an extra one."""
    with _opened(file) as opened:
        dataset = _dataset(opened, "char_embed", file)
        rows = dataset.shape[0] if dataset.ndim == 2 else None
        check_character_rows(rows, "char_embed", file)
        if dataset.shape[1] > MOST_CHARACTER_NUMBERS:
            raise FormatError(
                file, "array of the wrong shape", key="char_embed", found=dataset.shape
            )
        characters = as_float32(dataset[()])
    # With 262 rows either the padding row was saved in front, or one row was never used.
    if rows == BYTE_ALPHABET_SIZE + 1 and not characters[0].any():
        characters = characters[1:]
    return characters
