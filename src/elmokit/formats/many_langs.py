"""ELMoForManyLangs: a folder with two torch state dicts and two dictionaries.

``config.json``         training arguments; ``config_path`` names the file with the sizes
``char.dic word.dic``   lines ``token<TAB>id``
``token_embedder.pkl``  word and character embedding, convolutions, highway, projection
``encoder.pkl``         the LSTMs

Pickles are read by torch's weights-only reader and never executed; there is no fallback.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmokit.config import (
    MOST_OF_ANYTHING,
    PAPER_FILTERS,
    CharacterConfig,
    Marks,
    ModelConfig,
    WordConfig,
)
from elmokit.errors import FormatError, InputError
from elmokit.files import is_file, read_json, read_text, replacing_folder, write_json, write_text
from elmokit.formats.bilm_options import metadata_from_options
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint, Shape, config_error
from elmokit.text.vocabulary import Vocabulary

NAME = "many-langs"
MARKS = Marks(begin="<bos>", end="<eos>", unknown="<oov>")

CONFIG_FILE = "config.json"
SIZES_FILE = "sizes.json"
CHARACTERS_FILE = "char.dic"
WORDS_FILE = "word.dic"
EMBEDDER_FILE = "token_embedder.pkl"
ENCODER_FILE = "encoder.pkl"

# The sizes of all 44 published models, for folders whose config_path leads nowhere.
STOCK_SIZES: dict[str, Any] = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [list(pair) for pair in PAPER_FILTERS],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


@dataclass(frozen=True)
class _Entry:
    """One tensor of ManyLangs and the tensor or tensors of elmokit it corresponds to."""

    file: str
    name: str
    shape: Shape
    tensors: tuple[str, ...]
    split: Callable[[Tensor], tuple[Tensor, ...]] = lambda tensor: (tensor,)
    join: Callable[..., Tensor] = lambda tensor: tensor


def read(folder: Path) -> Checkpoint:
    """Read an ELMoForManyLangs folder."""
    sizes, sizes_file = _read_sizes(folder)
    characters = words = None
    embedder = _section(sizes, "token_embedder", sizes_file)
    if _option(embedder, "char_dim", int, sizes_file) > 0:
        characters = _read_dictionary(folder / CHARACTERS_FILE)
    if _option(embedder, "word_dim", int, sizes_file) > 0:
        words = _read_dictionary(folder / WORDS_FILE)
    config = _config(sizes, sizes_file, characters, words)
    state_dicts = {name: _read_pickle(folder / name) for name in (EMBEDDER_FILE, ENCODER_FILE)}
    for file, state_dict in state_dicts.items():
        _check_no_others(state_dict, {e.name for e in _entries(config)}, folder / file)
    tensors: dict[str, Tensor] = {}
    for entry in _entries(config):
        tensor = _checked(state_dicts[entry.file], entry, folder / entry.file)
        for name, part in zip(entry.tensors, entry.split(tensor), strict=True):
            tensors[name] = part.to(torch.float32).contiguous()
    return Checkpoint(
        config=config,
        tensors=tensors,
        vocabulary=None if words is None else Vocabulary(words, marks=MARKS),
        characters=characters,
        metadata=metadata_from_options(read_json(folder / CONFIG_FILE), folder / CONFIG_FILE),
        source_format=NAME,
    ).validated(
        folder,
        config_file=sizes_file,
        vocabulary_file=folder / WORDS_FILE,
        characters_file=folder / CHARACTERS_FILE,
    )


def write(checkpoint: Checkpoint, folder: Path, *, overwrite: bool = False) -> None:
    """Write an ELMoForManyLangs folder."""
    checkpoint = checkpoint.without_start_state()
    config = checkpoint.config
    _check_writable(config)
    with replacing_folder(folder, overwrite=overwrite, replaceable=MODEL_FILES) as partial:
        write_json(
            partial / CONFIG_FILE,
            {"config_path": SIZES_FILE, "elmokit": {"metadata": checkpoint.metadata}},
        )
        write_json(partial / SIZES_FILE, _sizes(config))
        if checkpoint.characters is not None:
            _write_dictionary(partial / CHARACTERS_FILE, checkpoint.characters)
        if checkpoint.vocabulary is not None:
            _write_dictionary(partial / WORDS_FILE, checkpoint.vocabulary.words)
        state_dicts: dict[str, dict[str, Tensor]] = {EMBEDDER_FILE: {}, ENCODER_FILE: {}}
        for entry in _entries(config):
            parts = (checkpoint.tensors[name] for name in entry.tensors)
            state_dicts[entry.file][entry.name] = entry.join(*parts).clone()
        for name, state_dict in state_dicts.items():
            torch.save(state_dict, partial / name)


def _entries(config: ModelConfig) -> Iterator[_Entry]:
    if config.words is not None:
        yield _Entry(
            EMBEDDER_FILE,
            "word_emb_layer.embedding.weight",
            (config.words.vocabulary_size, config.words.embedding_dim),
            ("token_encoder.words.weight",),
        )
    if config.characters is not None:
        yield from _character_entries(config.characters)
    for part, shape in (
        ("weight", (config.projection_dim, config.input_dim)),
        ("bias", (config.projection_dim,)),
    ):
        ours = f"token_encoder.projection.{part}"
        yield _Entry(EMBEDDER_FILE, f"projection.{part}", shape, (ours,))
    p, gates = config.projection_dim, 4 * config.lstm_dim
    for direction in ("forward", "backward"):
        for layer in range(config.layers):
            theirs, ours = f"{direction}_layer_{layer}", f"{direction}_lstm.layers.{layer}"
            for their_part, our_part, shape in (
                ("input_linearity.weight", "input_weight", (gates, p)),
                ("state_linearity.weight", "recurrent_weight", (gates, p)),
                ("state_linearity.bias", "bias", (gates,)),
                ("state_projection.weight", "projection_weight", (p, config.lstm_dim)),
            ):
                yield _Entry(ENCODER_FILE, f"{theirs}.{their_part}", shape, (f"{ours}.{our_part}",))


def _character_entries(config: CharacterConfig) -> Iterator[_Entry]:
    ours = "token_encoder.characters"
    yield _Entry(
        EMBEDDER_FILE,
        "char_emb_layer.embedding.weight",
        (config.alphabet_size, config.embedding_dim),
        (f"{ours}.embedding.weight",),
    )
    for index, (width, number) in enumerate(config.filters):
        name = f"convolutions.{index}"
        shape = (number, config.embedding_dim, width)
        yield _Entry(EMBEDDER_FILE, f"{name}.weight", shape, (f"{ours}.{name}.weight",))
        yield _Entry(EMBEDDER_FILE, f"{name}.bias", (number,), (f"{ours}.{name}.bias",))
    features = config.output_dim
    parts: dict[str, Shape] = {"weight": (2 * features, features), "bias": (2 * features,)}
    for index in range(config.highway_layers):
        for part, part_shape in parts.items():
            prefix = f"{ours}.highway.{index}"
            # Their gate lets the input pass, ours the transform: the same gate, negated.
            yield _Entry(
                EMBEDDER_FILE,
                f"highways._layers.{index}.{part}",
                part_shape,
                (f"{prefix}.transform.{part}", f"{prefix}.gate.{part}"),
                lambda tensor: (tensor[: len(tensor) // 2], -tensor[len(tensor) // 2 :]),
                lambda transform, gate: torch.cat([transform, -gate]),
            )


def _read_sizes(folder: Path) -> tuple[dict[str, Any], Path]:
    """Find the file with the sizes: as named, under its base name beside, or the stock ones."""
    config_file = folder / CONFIG_FILE
    named = read_json(config_file).get("config_path")
    if isinstance(named, str) and named:
        # Training was often done on Windows or in somebody's home: only the name may be left.
        base_name = named.replace("\\", "/").rsplit("/", 1)[-1]
        for candidate in (folder / named, folder / base_name):
            if is_file(candidate):
                return read_json(candidate), candidate
    return STOCK_SIZES, config_file


def _config(
    sizes: dict[str, Any],
    file: Path,
    characters: tuple[str, ...] | None,
    words: tuple[str, ...] | None,
) -> ModelConfig:
    encoder = _section(sizes, "encoder", file)
    embedder = _section(sizes, "token_embedder", file)
    for section, key, known in (
        (encoder, "encoder.name", "elmo"),
        (embedder, "token_embedder.name", "cnn"),
    ):
        name = section.get("name")
        if str(name).lower() != known:
            raise FormatError(file, "unknown kind", key=key, found=repr(name), expected=repr(known))
    projection_dim = _option(encoder, "projection_dim", int, file)
    try:
        return ModelConfig(
            characters=None
            if characters is None
            else CharacterConfig.from_dict(
                {
                    "alphabet": "dictionary",
                    "alphabet_size": len(characters),
                    "embedding_dim": embedder["char_dim"],
                    "max_characters": embedder.get("max_characters_per_token"),
                    "filters": embedder.get("filters"),
                    "activation": embedder.get("activation"),
                    "highway_layers": embedder.get("n_highway"),
                },
                "token_embedder",
            ),
            words=None
            if words is None
            else WordConfig(
                vocabulary_size=len(words),
                embedding_dim=embedder["word_dim"],
                longest_word=_option(embedder, "max_characters_per_token", int, file) - 2,
            ),
            layers=_option(encoder, "n_layers", int, file),
            lstm_dim=_option(encoder, "dim", int, file),
            projection_dim=projection_dim,
            cell_clip=_option(encoder, "cell_clip", float, file) or None,
            projection_clip=_option(encoder, "proj_clip", float, file) or None,
            forget_bias=0.0,
            marks=MARKS,
            tokeniser="words",
        )
    except InputError as error:
        raise config_error(file, error) from error


def _sizes(config: ModelConfig) -> dict[str, Any]:
    characters = config.characters
    embedder: dict[str, Any] = {
        "name": "cnn",
        "word_dim": config.words.embedding_dim if config.words else 0,
        "char_dim": characters.embedding_dim if characters else 0,
        "max_characters_per_token": _max_characters(config),
    }
    if characters is not None:
        embedder |= {
            "activation": characters.activation,
            "filters": [list(pair) for pair in characters.filters],
            "n_highway": characters.highway_layers,
        }
    return {
        "encoder": {
            "name": "elmo",
            "projection_dim": config.projection_dim,
            "cell_clip": config.cell_clip,
            "proj_clip": config.projection_clip,
            "dim": config.lstm_dim,
            "n_layers": config.layers,
        },
        "token_embedder": embedder,
        # Of training alone, yet the original does not load a model without it.
        "dropout": 0.1,
    }


def _max_characters(config: ModelConfig) -> int:
    if config.characters is not None:
        return config.characters.max_characters
    assert config.words is not None and config.words.longest_word is not None
    return config.words.longest_word + 2


def _check_writable(config: ModelConfig) -> None:
    obstacles = {
        "words that are not cut where their characters are": config.words is not None
        and (
            config.words.longest_word is None
            or config.words.longest_word != _max_characters(config) - 2
        ),
        "a byte alphabet": config.characters is not None
        and config.characters.alphabet != "dictionary",
        f"forget_bias {config.forget_bias}": config.forget_bias != 0.0,
        "marks other than <bos>, <eos> and <oov>": config.marks != MARKS,
        f"tokeniser {config.tokeniser!r}": config.tokeniser != "words",
        "no skip connections": not config.skip_connections,
        "no token_projection": not config.token_projection,
        "no lstm_projection": not config.lstm_projection,
        "no clipping": config.cell_clip is None or config.projection_clip is None,
        "a softmax": config.softmax_size is not None,
    }
    for obstacle, stands in obstacles.items():
        if stands:
            raise InputError(f"the {NAME} format cannot express a model with {obstacle}")


def _read_dictionary(file: Path) -> tuple[str, ...]:
    """Read ``token<TAB>id`` lines into the order of the ids."""
    tokens: dict[int, str] = {}
    for number, line in enumerate(read_text(file).removesuffix("\n").split("\n"), start=1):
        fields = line.strip().split("\t")
        if len(fields) == 1:  # the token was white space itself
            fields.insert(0, "\u3000")
        if len(fields) != 2 or not re.fullmatch(r"[0-9]{1,18}", fields[1]):
            raise FormatError(file, f"line {number} is not 'token<TAB>id'", found=repr(line[:80]))
        index = int(fields[1])
        if index in tokens:
            raise FormatError(file, f"line {number} gives an id a second time", found=index)
        tokens[index] = fields[0]
    if sorted(tokens) != list(range(len(tokens))):
        missing = next(index for index in range(len(tokens)) if index not in tokens)
        raise FormatError(file, "ids do not run from 0 without a gap", expected=f"id {missing}")
    return tuple(tokens[index] for index in range(len(tokens)))


def _write_dictionary(file: Path, tokens: tuple[str, ...]) -> None:
    for token in tokens:
        # Readers strip each line, and take an empty token for U+3000.
        stripped = token == "\u3000" or (token and token == token.strip())
        if "\t" in token or "\n" in token or not stripped:
            raise InputError(f"a token that is or holds white space cannot be written: {token!r}")
    text = "".join(f"{token}\t{index}\n" for index, token in enumerate(tokens))
    write_text(file, text)


def _read_pickle(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FormatError(file, "no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's advice on files that it should not run
            state_dict = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        # torch raises many kinds of errors on damaged bytes, some with advice to trust the file.
        raise FormatError(
            file,
            f"is not a readable torch state dict ({type(error).__name__})",
            hint="it is damaged or holds more than tensors; elmokit never executes a pickle",
        ) from error
    if not isinstance(state_dict, dict):
        raise FormatError(
            file, "wrong content", found=type(state_dict).__name__, expected="a state dict"
        )
    return state_dict


def _check_no_others(state_dict: dict[str, Any], known: set[str], file: Path) -> None:
    """Refuse weights of layers that the sizes do not speak of."""
    layers = re.compile(r"(forward_layer_|backward_layer_|highways\._layers\.|convolutions\.)\d")
    for name in state_dict:
        if isinstance(name, str) and layers.match(name) and name not in known:
            raise FormatError(
                file,
                "tensor that the config does not speak of",
                key=name,
                hint="the config belongs to another model",
            )


def _checked(state_dict: dict[str, Any], entry: _Entry, file: Path) -> Tensor:
    if entry.name not in state_dict:
        raise FormatError(file, "tensor missing", key=entry.name)
    tensor = state_dict[entry.name]
    if (
        not isinstance(tensor, Tensor)
        or not tensor.is_floating_point()
        or (tensor.layout, tensor.device.type) != (torch.strided, "cpu")
    ):
        raise FormatError(file, "wrong content", key=entry.name, expected="a tensor of floats")
    if tuple(tensor.shape) != entry.shape:
        raise FormatError(
            file,
            "tensor of the wrong shape",
            key=entry.name,
            found=tuple(tensor.shape),
            expected=f"{entry.shape} by the config and the dictionaries",
        )
    if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
        raise FormatError(file, "tensor is not fully stored", key=entry.name)
    return tensor.detach()


def _section(sizes: dict[str, Any], key: str, file: Path) -> dict[str, Any]:
    section = sizes.get(key)
    if not isinstance(section, dict):
        raise FormatError(file, "section missing", key=key)
    return section


def _option(section: dict[str, Any], key: str, kind: type, file: Path) -> Any:
    value = section.get(key)
    wanted = (int, float) if kind is float else (int,)
    if (
        not isinstance(value, wanted)
        or isinstance(value, bool)
        or not abs(value) <= MOST_OF_ANYTHING
    ):
        expected = "a number" if kind is float else "a whole number"
        raise FormatError(file, "wrong option", key=key, found=repr(value), expected=expected)
    return kind(value)
