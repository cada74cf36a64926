"""Training checkpoints of bilm-tf: ``PREFIX.index`` and ``PREFIX.data-*``, with an options.json.

They hold what the hdf5 files hold, under the names of the training graph, with the softmax and
the optimiser's variables (which are passed over).
"""

import re
from pathlib import Path

from elmokit.errors import FormatError
from elmokit.files import read_json, read_text, replacing_folder, write_json
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
from elmokit.formats.bilm_hdf5 import (
    OPTIONS_FILE,
    VOCABULARY_FILE,
    find_options,
    find_vocabulary,
    read_vocabulary,
    write_vocabulary,
)
from elmokit.formats.bilm_options import (
    check_writable,
    config_from_options,
    metadata_from_options,
    options_from_config,
)
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint
from elmokit.formats.tensor_bundle import TensorBundle, write_bundle

NAME = "tf-checkpoint"
INDEX_SUFFIX = ".index"
PREFIX_NAME = "model.ckpt-0"
LATEST_FILE = "checkpoint"


def read(
    source: Path,
    *,
    options: Path | None = None,
    vocabulary: Path | None = None,
    softmax: bool = True,
) -> Checkpoint:
    """Read a checkpoint from its folder, its prefix or its index file."""
    prefix = find_prefix(source)
    folder = prefix.parent
    index_file = Path(f"{prefix}{INDEX_SUFFIX}")
    options_file = options or find_options(folder)
    settings = read_json(options_file)
    bundle = TensorBundle(prefix)
    names = set(bundle.names)
    has_softmax = softmax and "lm/softmax/b" in names
    by_characters = "char_cnn" in settings
    table = "lm/char_embed" if by_characters else "lm/embedding"
    if table not in names:
        raise FormatError(index_file, "array missing", key=table)
    rows = {}
    for name in (table, "lm/softmax/b"):
        if name in names:
            rows[name] = (bundle.shape(name) or (0,))[0]
            if not rows[name] and name != "lm/char_embed":
                raise FormatError(index_file, "array is empty", key=name)
    if by_characters:
        check_character_rows(rows[table], table, index_file)
    config = config_from_options(
        settings,
        options_file,
        alphabet_size=rows[table] if by_characters else None,
        vocabulary_size=None if by_characters else rows[table],
        softmax_size=rows["lm/softmax/b"] if has_softmax else None,
    )

    def read_entry(entry: Entry) -> Array:
        name = graph_name(entry.name, one_layer=config.layers == 1)
        shared = table == "lm/embedding" and settings.get("share_embedding_softmax")
        if name == "lm/softmax/W" and name not in names and shared:
            name = table
        if name not in names:
            raise FormatError(index_file, "array missing", key=name)
        if bundle.shape(name) != entry.shape:
            raise FormatError(
                index_file,
                "array of the wrong shape",
                key=name,
                found=bundle.shape(name),
                expected=f"{entry.shape} by the options",
            )
        array = bundle.read(name)
        if array.dtype.kind != "f":
            raise FormatError(
                index_file,
                "wrong number type",
                key=name,
                found=array.dtype,
                expected="floating point",
            )
        return as_float32(array)

    known = {graph_name(e.name, one_layer=config.layers == 1) for e in entries(config)}
    check_no_others(names, known, index_file, by_characters=by_characters)

    vocabulary = vocabulary or find_vocabulary(config, folder)
    return Checkpoint(
        config=config,
        tensors=tensors_from(config, read_entry),
        vocabulary=None if vocabulary is None else read_vocabulary(vocabulary),
        metadata=metadata_from_options(settings, options_file),
        source_format=NAME,
    ).validated(index_file, config_file=options_file, vocabulary_file=vocabulary)


def write(checkpoint: Checkpoint, folder: Path, *, overwrite: bool = False) -> None:
    """Write a folder with a checkpoint, its options and its vocabulary."""
    checkpoint = checkpoint.without_start_state()
    config = checkpoint.config
    check_writable(config, NAME)
    with replacing_folder(folder, overwrite=overwrite, replaceable=MODEL_FILES) as partial:
        arrays = {
            graph_name(entry.name, one_layer=config.layers == 1): array
            for entry, array in arrays_from(config, checkpoint.tensors)
        }
        write_bundle(partial / PREFIX_NAME, arrays)
        write_json(
            partial / OPTIONS_FILE, options_from_config(checkpoint.config, checkpoint.metadata)
        )
        if checkpoint.vocabulary is not None:
            write_vocabulary(partial / VOCABULARY_FILE, checkpoint.vocabulary)
        latest = f'model_checkpoint_path: "{PREFIX_NAME}"\n'
        (partial / LATEST_FILE).write_text(latest, encoding="utf-8")


def graph_name(name: str, *, one_layer: bool) -> str:
    """Translate a name of the hdf5 layout to the training graph's."""
    match = re.fullmatch(r"RNN_(\d)/RNN/MultiRNNCell/Cell(\d+)/LSTMCell/(\w+)", name)
    if match is None:
        return f"lm/{name}"
    direction, layer, array = match.groups()
    parts = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}
    level = "" if one_layer else f"multi_rnn_cell/cell_{layer}/"
    return f"lm/RNN_{direction}/rnn/{level}lstm_cell/{parts[array]}"


def find_prefix(source: Path) -> Path:
    """Find the checkpoint's prefix from a folder, an index or data file, or the prefix itself."""
    if source.is_dir():
        return _latest(source)
    name = source.name
    if name.endswith(INDEX_SUFFIX):
        return source.with_name(name.removesuffix(INDEX_SUFFIX))
    return source.with_name(re.sub(r"\.data-\d{5}-of-\d{5}$", "", name))


def _latest(folder: Path) -> Path:
    """Take the checkpoint that training wrote last, as its own note says."""
    found = sorted(folder.glob(f"*{INDEX_SUFFIX}"))
    if len(found) > 1 and (folder / LATEST_FILE).is_file():
        note = re.search(r'^model_checkpoint_path: "(.*)"', read_text(folder / LATEST_FILE), re.M)
        # The path may be absolute and of another machine: its name is what counts.
        name = note[1].replace("\\", "/").rsplit("/", 1)[-1] if note else ""
        if (folder / f"{name}{INDEX_SUFFIX}") in found:
            return folder / name
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise FormatError(
            folder, f"expected one checkpoint, found {names}", hint="name its index file"
        )
    return found[0].with_name(found[0].name.removesuffix(INDEX_SUFFIX))
