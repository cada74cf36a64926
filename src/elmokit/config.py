"""What a biLM is made of: frozen dataclasses that every format reads into and writes from."""

import dataclasses
import json
import math
import types
import typing
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal, Self

from elmokit.errors import InputError

Activation = Literal["relu", "tanh"]
Alphabet = Literal["bytes", "dictionary"]

PAPER_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
BYTE_ALPHABET_SIZE = 261
# Far beyond any model; they keep a damaged file from asking for all the memory there is.
MOST_CHARACTERS = 10_000
MOST_LAYERS = 1_000
MOST_OF_ANYTHING = 2**40


class ConfigFields:
    """Reading a config from a JSON object, with unknown keys and wrong types rejected by name."""

    @classmethod
    def from_dict(cls, values: Any, where: str = "config") -> Self:
        """Build the config from plain JSON values; ``where`` names the place in errors."""
        if not isinstance(values, dict):
            raise InputError(f"{where}: expected an object, found {values!r}")
        hints = typing.get_type_hints(cls)
        unknown = sorted(set(values) - set(hints))
        if unknown:
            raise InputError(
                f"{where}: unknown key {unknown[0]!r}; known keys are {', '.join(sorted(hints))}"
            )
        for field_ in dataclasses.fields(cls):  # type: ignore[arg-type]
            has_default = (field_.default, field_.default_factory) != (MISSING, MISSING)
            if field_.name not in values and not has_default:
                raise InputError(f"{where}: key {field_.name!r} is missing")
        return cls(
            **{
                name: _value_of(hints[name], value, f"{where}.{name}")
                for name, value in values.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values that `from_dict` reads back."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]


def parsed_change(change: str) -> tuple[str, Any]:
    """Read a change to settings, ``key=value``; a value is JSON, or else a plain word."""
    key, equals, written = change.partition("=")
    if not equals:
        raise InputError(f"set: expected key=value, found {change!r}")
    try:
        return key, json.loads(written)
    except ValueError:
        return key, written


def _value_of(hint: Any, value: Any, where: str) -> Any:  # noqa: PLR0911
    """Check ``value`` against the annotation ``hint`` and convert what JSON cannot express."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        if value is None and type(None) in arguments:
            return None
        return _value_of(next(a for a in arguments if a is not type(None)), value, where)
    if origin is Literal:
        if value not in arguments:
            raise InputError(f"{where}: expected one of {list(arguments)}, found {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise InputError(f"{where}: expected a list, found {value!r}")
        if arguments[-1] is Ellipsis:
            return tuple(_value_of(arguments[0], item, where) for item in value)
        if len(value) != len(arguments):
            raise InputError(f"{where}: expected {len(arguments)} values, found {value!r}")
        return tuple(_value_of(a, item, where) for a, item in zip(arguments, value, strict=True))
    if dataclasses.is_dataclass(hint):
        return hint.from_dict(value, where)  # type: ignore[union-attr]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise InputError(
                f"{where}: expected a number of ordinary size, found {value}"
            ) from None
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise InputError(f"{where}: expected {hint.__name__}, found {value!r}")
    return value


def _require_positive(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is None:
            continue
        if not value > 0:
            raise InputError(f"{name}: expected a number above 0, found {value!r}")
        if value > MOST_OF_ANYTHING:
            raise InputError(f"{name}: expected a number of ordinary size, found {value!r}")


def _require_range(config: object, name: str, least: int, most: int) -> None:
    value = getattr(config, name)
    if not least <= value <= most:
        raise InputError(f"{name}: expected {least} to {most}, found {value}")


@dataclass(frozen=True, kw_only=True)
class CharacterConfig(ConfigFields):
    """The character CNN that turns the spelling of a word into a vector."""

    alphabet: Alphabet = "bytes"
    """``bytes``: UTF-8 bytes (bilm-tf); ``dictionary``: code points of a file (ManyLangs)."""
    alphabet_size: int = BYTE_ALPHABET_SIZE
    """Rows of the character embedding: 256 bytes and 5 marks, or the length of the dictionary."""
    max_characters: int = 50
    """Positions in a word's row, its two boundary marks included; the rest is cut off."""
    embedding_dim: int = 16
    """Size of a character's vector."""
    filters: tuple[tuple[int, int], ...] = PAPER_FILTERS
    """Convolutions as (width, number of filters)."""
    activation: Activation = "relu"
    """Applied to the maximum over positions."""
    highway_layers: int = 2
    """Highway layers over the concatenated filters."""

    def __post_init__(self) -> None:
        _require_positive(self, "alphabet_size", "embedding_dim")
        _require_range(self, "max_characters", 3, MOST_CHARACTERS)
        _require_range(self, "highway_layers", 0, MOST_LAYERS)
        if not self.filters:
            raise InputError("filters: expected at least one (width, number) pair, found none")
        for width, number in self.filters:
            if width < 1 or number < 1 or width > self.max_characters:
                raise InputError(
                    f"filters: expected widths of 1 to {self.max_characters} (max_characters) "
                    f"and numbers above 0, found {[width, number]}"
                )
        if self.alphabet == "bytes" and self.alphabet_size < BYTE_ALPHABET_SIZE:
            raise InputError(
                f"alphabet_size: a byte alphabet has at least {BYTE_ALPHABET_SIZE} rows, "
                f"found {self.alphabet_size}"
            )

    @property
    def output_dim(self) -> int:
        """Size of the vector that the filters give together."""
        return sum(number for _, number in self.filters)


@dataclass(frozen=True, kw_only=True)
class WordConfig(ConfigFields):
    """A plain word embedding as (part of) the input."""

    vocabulary_size: int
    """Rows of the embedding."""
    embedding_dim: int
    """Size of a word's vector."""
    longest_word: int | None = None
    """Words are cut to so many characters before they are looked up (ManyLangs); None: never."""

    def __post_init__(self) -> None:
        _require_positive(self, "vocabulary_size", "embedding_dim", "longest_word")


@dataclass(frozen=True, kw_only=True)
class Marks(ConfigFields):
    """How a model writes the tokens that are not words."""

    begin: str = "<S>"
    """Stands before the first token of a sentence."""
    end: str = "</S>"
    """Stands after the last token of a sentence."""
    unknown: str = "<UNK>"
    """Stands in for a word outside the vocabulary."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig(ConfigFields):
    """A bidirectional language model; the defaults are the paper's original model."""

    characters: CharacterConfig | None = field(default_factory=CharacterConfig)
    """Character input, or None for word input alone."""
    words: WordConfig | None = None
    """Word input: alone, or (ManyLangs) concatenated before the character features."""
    token_projection: bool = True
    """Whether a linear layer takes the input features to ``projection_dim``."""
    layers: int = 2
    """LSTM layers in each direction."""
    lstm_dim: int = 4096
    """Size of the LSTM cell."""
    projection_dim: int = 512
    """Size of the LSTM's input and output in each direction."""
    lstm_projection: bool = True
    """Whether the cell's output is projected; without it the two sizes are equal."""
    cell_clip: float | None = 3.0
    """The cell state stays within ± this; None: no limit."""
    projection_clip: float | None = 3.0
    """The projected output stays within ± this; None: no limit."""
    skip_connections: bool = True
    """Whether layers after the first add their input to their output."""
    forget_bias: float = 1.0
    """Added to the forget gate beside the stored bias (TensorFlow keeps it out of the weights)."""
    softmax_size: int | None = None
    """Vocabulary of the language model's softmax, or None where it is not stored."""
    marks: Marks = field(default_factory=Marks)
    """How this model writes sentence marks and unknown words."""
    tokeniser: str = "words"
    """The tokeniser that raw text goes through."""

    def __post_init__(self) -> None:
        _require_range(self, "layers", 1, MOST_LAYERS)
        _require_positive(self, "lstm_dim", "projection_dim", "cell_clip", "projection_clip")
        _require_positive(self, "softmax_size")
        if not math.isfinite(self.forget_bias):
            raise InputError(f"forget_bias: expected a finite number, found {self.forget_bias!r}")
        if self.characters is None and self.words is None:
            raise InputError("characters, words: a model needs at least one of them, found neither")
        if not self.lstm_projection and self.lstm_dim != self.projection_dim:
            raise InputError(
                f"lstm_projection: without it lstm_dim and projection_dim are equal, "
                f"found {self.lstm_dim} and {self.projection_dim}"
            )
        if not self.token_projection and self.input_dim != self.projection_dim:
            raise InputError(
                f"token_projection: without it the input features have the size projection_dim "
                f"({self.projection_dim}), found {self.input_dim}"
            )

    @property
    def input_dim(self) -> int:
        """Size of the input features before ``token_projection``."""
        return (self.words.embedding_dim if self.words else 0) + (
            self.characters.output_dim if self.characters else 0
        )
