"""The options.json of bilm-tf and AllenNLP, read into a config and written from one."""

from pathlib import Path
from typing import Any

from elmokit.config import (
    BYTE_ALPHABET_SIZE,
    MOST_OF_ANYTHING,
    CharacterConfig,
    Marks,
    ModelConfig,
    WordConfig,
)
from elmokit.errors import FormatError, InputError
from elmokit.formats.checkpoint import config_error


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
    if type(value) is not int or not least <= value <= MOST_OF_ANYTHING:
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
    if value is not None and not (number and 0 <= value <= MOST_OF_ANYTHING):
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
