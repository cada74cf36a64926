"""The two-way table between elmokit's tensors and the arrays of bilm-tf.

The hdf5 files and the training checkpoints of bilm-tf hold the same arrays; this table is the
one truth for reading and for writing both.

H cell, p projection, E character embedding, F filters together, V words
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.config import BYTE_ALPHABET_SIZE, CharacterConfig, Marks, ModelConfig, WordConfig
from elmokit.errors import FormatError, InputError
from elmokit.formats.checkpoint import Shape, config_error

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Entry:
    """One array of bilm-tf and the tensor or tensors it corresponds to."""

    name: str
    """Name in the hdf5 file."""
    shape: Shape
    """Shape in the hdf5 file."""
    tensors: tuple[str, ...]
    """Names in elmokit."""
    split: Callable[[Array], tuple[Array, ...]]
    """From bilm-tf's array to elmokit's."""
    join: Callable[..., Array]
    """From elmokit's arrays to bilm-tf's."""


def entries(config: ModelConfig) -> Iterator[Entry]:
    """Give every array of a model with this config."""
    p = config.projection_dim
    if config.words is not None:
        shape = (config.words.vocabulary_size, config.words.embedding_dim)
        yield _same("embedding", shape, "token_encoder.words.weight")
    if config.characters is not None:
        yield from _character_entries(config.characters)
    if config.token_projection:
        shape = (config.input_dim, p)
        yield _transposed("CNN_proj/W_proj", shape, "token_encoder.projection.weight")
        yield _same("CNN_proj/b_proj", (p,), "token_encoder.projection.bias")
    for number, direction in enumerate(("forward", "backward")):
        for layer in range(config.layers):
            cell = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            prefix = f"{direction}_lstm.layers.{layer}"
            yield from _lstm_entries(config, cell, prefix)
    if config.softmax_size is not None:
        yield _same("softmax/W", (config.softmax_size, p), "softmax.weight")
        yield _same("softmax/b", (config.softmax_size,), "softmax.bias")


def _character_entries(config: CharacterConfig) -> Iterator[Entry]:
    ours = "token_encoder.characters"
    shape: Shape = (config.alphabet_size, config.embedding_dim)
    yield _same("char_embed", shape, f"{ours}.embedding.weight")
    for index, (width, number) in enumerate(config.filters):
        yield Entry(
            f"CNN/W_cnn_{index}",
            (1, width, config.embedding_dim, number),
            (f"{ours}.convolutions.{index}.weight",),
            lambda array: (array[0].transpose(2, 1, 0),),
            lambda weight: weight.transpose(2, 1, 0)[None],
        )
        yield _same(f"CNN/b_cnn_{index}", (number,), f"{ours}.convolutions.{index}.bias")
    features = config.output_dim
    for index in range(config.highway_layers):
        # bilm-tf calls the gate that opens the transform "carry".
        for theirs, part in (("carry", "gate"), ("transform", "transform")):
            prefix = f"{ours}.highway.{index}.{part}"
            shape = (features, features)
            yield _transposed(f"CNN_high_{index}/W_{theirs}", shape, f"{prefix}.weight")
            yield _same(f"CNN_high_{index}/b_{theirs}", (features,), f"{prefix}.bias")


def _lstm_entries(config: ModelConfig, cell: str, prefix: str) -> Iterator[Entry]:
    p, gates = config.projection_dim, 4 * config.lstm_dim
    yield Entry(
        f"{cell}/W_0",
        (2 * p, gates),
        (f"{prefix}.input_weight", f"{prefix}.recurrent_weight"),
        lambda array: (_swap_gates(array[:p].T), _swap_gates(array[p:].T)),
        lambda inputs, recurrent: np.concatenate([_swap_gates(inputs).T, _swap_gates(recurrent).T]),
    )
    yield Entry(
        f"{cell}/B",
        (gates,),
        (f"{prefix}.bias",),
        lambda array: (_swap_gates(array),),
        _swap_gates,
    )
    if config.lstm_projection:
        shape = (config.lstm_dim, p)
        yield _transposed(f"{cell}/W_P_0", shape, f"{prefix}.projection_weight")


def _swap_gates(array: Array) -> Array:
    """Swap the middle two of four blocks: TensorFlow's i, j, f, o and torch's i, f, g, o."""
    first, second, third, fourth = np.split(array, 4)
    return np.concatenate([first, third, second, fourth])


def _same(name: str, shape: Shape, tensor: str) -> Entry:
    return Entry(name, shape, (tensor,), lambda array: (array,), lambda array: array)


def _transposed(name: str, shape: Shape, tensor: str) -> Entry:
    return Entry(name, shape, (tensor,), lambda array: (array.T,), lambda array: array.T)


def tensors_from(config: ModelConfig, read: Callable[[Entry], Array]) -> dict[str, Tensor]:
    """Read every array of the model and give elmokit's tensors."""
    tensors = {}
    for entry in entries(config):
        for name, array in zip(entry.tensors, entry.split(read(entry)), strict=True):
            tensors[name] = torch.from_numpy(np.ascontiguousarray(array))
    return tensors


def as_float32(array: npt.NDArray[np.floating]) -> Array:
    """Convert quietly: what does not fit becomes infinite, and is refused with its name later."""
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float32)


def arrays_from(config: ModelConfig, tensors: dict[str, Tensor]) -> Iterator[tuple[Entry, Array]]:
    """Give every array of bilm-tf, made from elmokit's tensors."""
    for entry in entries(config):
        array = entry.join(*(tensors[name].numpy() for name in entry.tensors))
        yield entry, np.ascontiguousarray(array)


def check_character_rows(rows: int | None, key: str, file: Path) -> None:
    """Accept 261 rows, or 262 with an extra one."""
    if rows not in (BYTE_ALPHABET_SIZE, BYTE_ALPHABET_SIZE + 1):
        raise FormatError(
            file, "array of the wrong shape", key=key, found=rows, expected="261 or 262 rows"
        )


def check_no_others(
    names: Iterable[str], known: set[str], file: Path, *, by_characters: bool
) -> None:
    """Refuse weights of layers that the options do not speak of.

    What stands below a known name belongs to it (an optimiser's variables). Dumped token
    embeddings take the place of a character CNN, which may still be there.
    """
    prefixes = ("CNN", "RNN_") if by_characters else ("RNN_",)
    for name in sorted(names):
        weights = name.removeprefix("lm/").startswith(prefixes)
        if weights and not any(name == k or name.startswith(f"{k}/") for k in known):
            raise FormatError(
                file,
                "array that the options do not speak of",
                key=name,
                hint="the options belong to another model",
            )


def config_from_options(
    options: dict[str, Any],
    file: Path,
    *,
    alphabet_size: int | None,
    vocabulary_size: int | None,
    softmax_size: int | None,
) -> ModelConfig:
    """Read an options.json; the sizes of the tables come from the arrays.

    Exactly one of ``alphabet_size`` (character input) and ``vocabulary_size`` (word input) is
    given.
    """
    lstm = _section(options, "lstm", file)
    characters = words = None
    projection_dim = _number(lstm, "projection_dim", file, "lstm")
    if alphabet_size is not None:
        characters = _characters_from_options(options, file, alphabet_size)
    else:
        assert vocabulary_size is not None
        words = WordConfig(vocabulary_size=vocabulary_size, embedding_dim=projection_dim)
    lstm_dim = _number(lstm, "dim", file, "lstm")
    if projection_dim > lstm_dim:
        raise FormatError(
            file,
            "wrong option",
            key="lstm.projection_dim",
            found=projection_dim,
            expected=f"at most lstm.dim ({lstm_dim})",
        )
    try:
        return ModelConfig.from_dict(
            {
                "characters": None if characters is None else characters.to_dict(),
                "words": None if words is None else words.to_dict(),
                "token_projection": characters is not None
                and characters.output_dim != projection_dim,
                "layers": _number(lstm, "n_layers", file, "lstm") if "n_layers" in lstm else 1,
                "lstm_dim": lstm_dim,
                "projection_dim": projection_dim,
                "lstm_projection": projection_dim < lstm_dim,
                "cell_clip": _clip(lstm, "cell_clip", file),
                "projection_clip": _clip(lstm, "proj_clip", file),
                "skip_connections": _flag(lstm, "use_skip_connections", file),
                "softmax_size": softmax_size,
                "tokeniser": own_section(options, file).get("tokeniser", "words"),
            },
            "lstm",
        )
    except InputError as error:
        raise config_error(file, error) from error


def _characters_from_options(
    options: dict[str, Any], file: Path, alphabet_size: int
) -> CharacterConfig:
    section = _section(options, "char_cnn", file)
    declared = section.get("n_characters", alphabet_size)
    if declared not in (BYTE_ALPHABET_SIZE, BYTE_ALPHABET_SIZE + 1, alphabet_size):
        raise FormatError(
            file,
            "wrong option",
            key="char_cnn.n_characters",
            found=declared,
            expected="261 or 262",
        )
    try:
        return CharacterConfig.from_dict(
            {
                "alphabet_size": alphabet_size,
                "max_characters": _number(
                    {"max_characters_per_token": 50} | section,
                    "max_characters_per_token",
                    file,
                    "char_cnn",
                    least=3,
                ),
                "embedding_dim": _number(
                    _section(section, "embedding", file, "char_cnn"),
                    "dim",
                    file,
                    "char_cnn.embedding",
                ),
                "filters": _required(section, "filters", file, "char_cnn"),
                "activation": section.get("activation", "relu"),
                "highway_layers": 0
                if section.get("n_highway") is None
                else _number(section, "n_highway", file, "char_cnn", least=0),
            },
            "char_cnn",
        )
    except InputError as error:
        raise config_error(file, error) from error


def own_section(options: dict[str, Any], file: Path) -> dict[str, Any]:
    """Give what elmokit itself has written into an options.json; older readers pass it over."""
    return _section(options, "elmokit", file) if "elmokit" in options else {}


def metadata_from_options(options: dict[str, Any], file: Path) -> dict[str, str]:
    """Read the free facts that `options_from_config` wrote."""
    metadata = own_section(options, file).get("metadata", {})
    if not isinstance(metadata, dict):
        raise FormatError(file, "wrong option", key="elmokit.metadata", expected="an object")
    return {str(key): str(value) for key, value in metadata.items()}


def options_from_config(config: ModelConfig, metadata: dict[str, str]) -> dict[str, Any]:
    """Write the options.json that bilm-tf and AllenNLP read."""
    options: dict[str, Any] = {
        "lstm": {
            "use_skip_connections": config.skip_connections,
            "projection_dim": config.projection_dim,
            "cell_clip": config.cell_clip,
            "proj_clip": config.projection_clip,
            "dim": config.lstm_dim,
            "n_layers": config.layers,
        },
        "elmokit": {"tokeniser": config.tokeniser, "metadata": metadata},
    }
    if config.characters is not None:
        options["char_cnn"] = {
            "activation": config.characters.activation,
            "filters": [list(pair) for pair in config.characters.filters],
            "n_highway": config.characters.highway_layers,
            "embedding": {"dim": config.characters.embedding_dim},
            # Prediction code wants the number with the padding row that it prepends itself.
            "n_characters": BYTE_ALPHABET_SIZE + 1,
            "max_characters_per_token": config.characters.max_characters,
        }
    size = config.softmax_size or (config.words.vocabulary_size if config.words else None)
    if size is not None:
        options["n_tokens_vocab"] = size
    return options


def check_writable(config: ModelConfig, form: str) -> None:
    """Refuse models that bilm-tf's arrays cannot express, naming what stands in the way."""
    obstacles = {
        "characters and words together": config.characters is not None and config.words is not None,
        "a character dictionary": config.characters is not None
        and config.characters.alphabet != "bytes",
        "words cut before look-up": config.words is not None
        and config.words.longest_word is not None,
        "an alphabet of its own": config.characters is not None
        and config.characters.alphabet_size > BYTE_ALPHABET_SIZE + 1,
        "marks of its own": config.marks != Marks(),
        f"forget_bias {config.forget_bias}": config.forget_bias != 1.0,
        "token_projection over words": config.token_projection and config.characters is None,
        "token_projection between equal sizes": config.token_projection
        and config.input_dim == config.projection_dim,
        "lstm_projection between equal sizes": config.lstm_projection
        and config.lstm_dim <= config.projection_dim,
    }
    for obstacle, stands in obstacles.items():
        if stands:
            raise InputError(f"the {form} format cannot express a model with {obstacle}")


def _section(
    options: dict[str, Any], key: str, file: Path, parent: str | None = None
) -> dict[str, Any]:
    value = _required(options, key, file, parent)
    if not isinstance(value, dict):
        raise FormatError(file, "wrong option", key=key, found=repr(value), expected="an object")
    return value


def _number(section: dict[str, Any], key: str, file: Path, parent: str, *, least: int = 1) -> int:
    value = _required(section, key, file, parent)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise FormatError(
            file,
            "wrong option",
            key=f"{parent}.{key}",
            found=repr(value),
            expected=f"a whole number, {least} or more",
        )
    return value


def _clip(lstm: dict[str, Any], key: str, file: Path) -> float | None:
    """Read a limit; absent, null and 0 mean none."""
    value = lstm.get(key)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 0 <= value < 2**64):
        raise FormatError(
            file, "wrong option", key=f"lstm.{key}", found=repr(value), expected="a number or null"
        )
    return float(value) if value else None


def _flag(lstm: dict[str, Any], key: str, file: Path) -> bool:
    value = lstm.get(key)
    if value is not None and not isinstance(value, bool):
        raise FormatError(
            file, "wrong option", key=f"lstm.{key}", found=repr(value), expected="true or false"
        )
    return bool(value)


def _required(section: dict[str, Any], key: str, file: Path, parent: str | None) -> Any:
    if key not in section:
        raise FormatError(file, "option missing", key=f"{parent}.{key}" if parent else key)
    return section[key]
