"""What every format reads into and writes from: a config, named tensors, word lists."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import FormatError, InputError
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.tokenise import tokeniser_named
from elmokit.text.vocabulary import Vocabulary

Shape = tuple[int, ...]

# The files that model folders consist of; a folder with any other file is never replaced.
MODEL_FILES = (
    "*.json",
    "*.safetensors",
    "vocab*.txt",
    "characters.txt",
    "*.hdf5",
    "*.h5",
    "*.pkl",
    "*.dic",
    "*.index",
    "*.data-*",
    "*.meta",
    "checkpoint",
    "README.md",
)

START_STATE_PARTS = ("cell", "hidden")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model as it lies in files, in elmokit's own names."""

    config: ModelConfig
    """What the model is made of."""
    tensors: dict[str, Tensor]
    """Float32 tensors under the names of `expected_tensors`."""
    vocabulary: Vocabulary | None = None
    """Words of the word input or of the softmax."""
    characters: tuple[str, ...] | None = None
    """The character dictionary of a model whose alphabet is one."""
    metadata: dict[str, str] = field(default_factory=dict)
    """Free facts about the model: ``name``, ``licence``, ``description``, ``trained``..."""
    source_format: str = "native"
    """The format it was read from."""

    def validated(
        self,
        file: Path,
        *,
        config_file: Path | None = None,
        vocabulary_file: Path | None = None,
        characters_file: Path | None = None,
    ) -> Self:
        """Check names, shapes, values and word lists against the config.

        Errors name the file that they are about: ``file`` holds the weights, and the rest unless
        it has a file of its own.
        """
        expected = expected_tensors(self.config)
        if any(name.startswith("start_state.") for name in self.tensors):
            expected |= start_state_tensors(self.config)
        for name, shape in expected.items():
            if name not in self.tensors:
                raise FormatError(file, "tensor missing", key=name, expected=f"shape {shape}")
            found = tuple(self.tensors[name].shape)
            if found != shape:
                raise FormatError(
                    file, "tensor of the wrong shape", key=name, found=found, expected=shape
                )
        unknown = sorted(self.tensors.keys() - expected.keys())
        if unknown:
            raise FormatError(file, "unknown tensor", key=unknown[0])
        for name, tensor in self.tensors.items():
            if not bool(torch.isfinite(tensor).all()):
                raise FormatError(
                    file,
                    "tensor holds NaN or infinity",
                    key=name,
                    hint="the file is damaged or its training diverged",
                )
        self._check_vocabulary(vocabulary_file or file)
        self._check_characters(characters_file or file)
        try:
            tokeniser_named(self.config.tokeniser)
        except InputError as error:
            raise config_error(config_file or file, error) from error
        return self

    def _check_vocabulary(self, file: Path) -> None:
        config = self.config
        if config.words is not None:
            if self.vocabulary is None:
                raise FormatError(
                    file,
                    "vocabulary missing: this model reads word ids",
                    hint="put its vocabulary file beside it or pass vocabulary=",
                )
            missing = self.vocabulary.missing_marks()
            if missing:
                raise FormatError(file, "vocabulary lacks a mark", expected=missing[0])
            if len(self.vocabulary) != config.words.vocabulary_size:
                raise FormatError(
                    file,
                    "vocabulary and word embedding differ in size",
                    found=f"{len(self.vocabulary)} words",
                    expected=f"{config.words.vocabulary_size}",
                )
        if (
            config.softmax_size is not None
            and self.vocabulary is not None
            and len(self.vocabulary) != config.softmax_size
        ):
            raise FormatError(
                file,
                "vocabulary and softmax differ in size",
                found=f"{len(self.vocabulary)} words",
                expected=f"{config.softmax_size}",
            )

    def _check_characters(self, file: Path) -> None:
        config = self.config
        if config.characters is not None and config.characters.alphabet == "dictionary":
            count = len(self.characters or ())
            if count != config.characters.alphabet_size:
                raise FormatError(
                    file,
                    "character dictionary and character embedding differ in size",
                    found=f"{count} characters",
                    expected=f"{config.characters.alphabet_size}",
                )
        try:
            TokenIndexer.for_model(config, vocabulary=self.vocabulary, characters=self.characters)
        except InputError as error:
            raise config_error(file, error) from error

    def without_start_state(self) -> Self:
        """Leave out the stored start state, which foreign formats cannot hold."""
        kept = {name: t for name, t in self.tensors.items() if not name.startswith("start_state.")}
        return replace(self, tensors=kept)


def expected_tensors(config: ModelConfig) -> dict[str, Shape]:
    """Name every weight of a model with its shape; these names are the native format's."""
    shapes: dict[str, Shape] = {}
    if config.words is not None:
        shapes["token_encoder.words.weight"] = (
            config.words.vocabulary_size,
            config.words.embedding_dim,
        )
    if config.characters is not None:
        prefix = "token_encoder.characters"
        characters = config.characters
        shapes[f"{prefix}.embedding.weight"] = (characters.alphabet_size, characters.embedding_dim)
        for index, (width, number) in enumerate(characters.filters):
            shapes[f"{prefix}.convolutions.{index}.weight"] = (
                number,
                characters.embedding_dim,
                width,
            )
            shapes[f"{prefix}.convolutions.{index}.bias"] = (number,)
        features = characters.output_dim
        for index in range(characters.highway_layers):
            for part in ("transform", "gate"):
                shapes[f"{prefix}.highway.{index}.{part}.weight"] = (features, features)
                shapes[f"{prefix}.highway.{index}.{part}.bias"] = (features,)
    if config.token_projection:
        shapes["token_encoder.projection.weight"] = (config.projection_dim, config.input_dim)
        shapes["token_encoder.projection.bias"] = (config.projection_dim,)
    gates = 4 * config.lstm_dim
    for direction in ("forward", "backward"):
        for index in range(config.layers):
            prefix = f"{direction}_lstm.layers.{index}"
            shapes[f"{prefix}.input_weight"] = (gates, config.projection_dim)
            shapes[f"{prefix}.recurrent_weight"] = (gates, config.projection_dim)
            shapes[f"{prefix}.bias"] = (gates,)
            if config.lstm_projection:
                shapes[f"{prefix}.projection_weight"] = (config.projection_dim, config.lstm_dim)
    if config.softmax_size is not None:
        shapes["softmax.weight"] = (config.softmax_size, config.projection_dim)
        shapes["softmax.bias"] = (config.softmax_size,)
    return shapes


def start_state_tensors(config: ModelConfig) -> dict[str, Shape]:
    """Name the optional tensors of a stored start state with their shapes."""
    sizes = {"cell": config.lstm_dim, "hidden": config.projection_dim}
    return {
        f"start_state.{direction}.{part}": (config.layers, sizes[part])
        for direction in ("forward", "backward")
        for part in START_STATE_PARTS
    }


def config_error(file: Path, error: InputError) -> FormatError:
    """Say which file a bad config value stands in."""
    return FormatError(file, str(error))
