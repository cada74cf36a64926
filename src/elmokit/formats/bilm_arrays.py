"""The two-way table between elmokit's tensors and the arrays of bilm-tf.

The hdf5 files and the training checkpoints of bilm-tf hold the same arrays; this table is the
one truth for reading and for writing both.

H cell, p projection, E character embedding, F filters together, V words
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.config import BYTE_ALPHABET_SIZE, CharacterConfig, ModelConfig
from elmokit.errors import FormatError
from elmokit.formats.checkpoint import Shape

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
