"""ELMoForManyLangs folders, written here as its training wrote them, against the reference.

The tolerance is that of the bilm-tf grid, for the same reason: float32 against float64.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import elmokit
from elmokit.formats import detect, many_langs
from reference import Array, Largest, State, many_langs_layers

TOLERANCE = 2e-6

SENTENCES = [
    ["The", "cat", "sat", "on", "the", "mat", "."],
    ["我", "爱", "北京", "天气", "。"],
    # Neither these words nor all of their characters are listed.
    ["Unseen", "wörd", "Ωmega", "😀", "龘", "cat"],
    # 18 characters count: the first of these is listed by them, the second is not.
    ["abcdefghij" * 3, "zyxwvutsrq" * 3, "x" * 18, "x" * 19, "好" * 25, ""],
    ["cat"],
    ["a\u3000b", "\u3000", "the"],
    ["<pad>", "<oov>", "<bos>", "<eos>", "<bow>", "the"],
]
CHARACTERS = [
    *"abcdefghijmnoprstuwxyzTU.我爱北京天气好。ö\u3000",
    *("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"),
]
WORDS = [
    *("<oov>", "<bos>", "<eos>", "<pad>", "the", "The", "cat", "sat", ".", "我", "北京"),
    *("天气", ("abcdefghij" * 3)[:18], "\u3000", "x" * 18),
]

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Model:
    """What a folder holds."""

    sizes: dict[str, Any]
    embedder: Tensors
    encoder: Tensors

    def layers(
        self,
        sentences: list[list[str]],
        *,
        states: list[State] | None = None,
        largest: Largest | None = None,
    ) -> list[Array]:
        settings = self.sizes["token_embedder"]
        return many_langs_layers(
            {name: tensor.numpy() for name, tensor in self.embedder.items()},
            {name: tensor.numpy() for name, tensor in self.encoder.items()},
            self.sizes,
            sentences,
            characters=_numbered(CHARACTERS) if settings["char_dim"] else None,
            words=_numbered(WORDS) if settings["word_dim"] else None,
            states=states,
            largest=largest,
        )


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def make_model(
    *,
    word_dim: int = 6,
    char_dim: int = 5,
    layers: int = 2,
    activation: str = "relu",
    highway: int = 2,
    clip: float = 3,
) -> Model:
    filters, p, dim = [[1, 4], [2, 4], [3, 6]], 8, 16
    sizes = {
        "encoder": {
            "name": "elmo",
            "projection_dim": p,
            "cell_clip": clip,
            "proj_clip": clip,
            "dim": dim,
            "n_layers": layers,
        },
        "token_embedder": {
            "name": "cnn",
            "activation": activation,
            "filters": filters,
            "n_highway": highway,
            "word_dim": word_dim,
            "char_dim": char_dim,
            "max_characters_per_token": 20,
        },
        "classifier": {"name": "sampled_softmax", "n_samples": 8192},
        "dropout": 0.1,
    }
    rng = np.random.default_rng(5)

    def normal(deviation: float, *shape: int) -> torch.Tensor:
        return torch.from_numpy((rng.standard_normal(shape) * deviation).astype(np.float32))

    embedder, features = {}, word_dim
    if word_dim:
        embedder["word_emb_layer.embedding.weight"] = normal(1.0, len(WORDS), word_dim)
    if char_dim:
        embedder["char_emb_layer.embedding.weight"] = normal(0.5, len(CHARACTERS), char_dim)
        for index, (width, number) in enumerate(filters):
            embedder[f"convolutions.{index}.weight"] = normal(width**-0.5, number, char_dim, width)
            embedder[f"convolutions.{index}.bias"] = normal(0.3, number)
        size = sum(number for _, number in filters)
        features += size
        for index in range(highway):
            embedder[f"highways._layers.{index}.weight"] = normal(size**-0.5, 2 * size, size)
            embedder[f"highways._layers.{index}.bias"] = normal(0.5, 2 * size)
    embedder["projection.weight"] = normal(1.5 * features**-0.5, p, features)
    embedder["projection.bias"] = normal(0.3, p)
    encoder = {}
    for layer in range(layers):
        for direction in ("forward", "backward"):
            prefix = f"{direction}_layer_{layer}"
            encoder[f"{prefix}.input_linearity.weight"] = normal(p**-0.5, 4 * dim, p)
            encoder[f"{prefix}.state_linearity.weight"] = normal(p**-0.5, 4 * dim, p)
            bias = normal(0.4, 4 * dim)
            bias[dim : 2 * dim] += 1  # the forget gate's, as AllenNLP's cell starts out
            encoder[f"{prefix}.state_linearity.bias"] = bias
            encoder[f"{prefix}.state_projection.weight"] = normal(2 * dim**-0.5, p, dim)
    return Model(sizes, embedder, encoder)


def write_model(
    folder: Path,
    model: Model,
    *,
    zipped: bool = True,
    config_path: str | None = "/users4/somebody/configs/cnn_small.json",
    sizes_file: str | None = "cnn_small.json",
) -> Path:
    folder.mkdir(exist_ok=True)
    arguments: dict[str, Any] = {"seed": 1, "gpu": 0, "batch_size": 32, "max_sent_len": 20}
    if config_path is not None:
        arguments["config_path"] = config_path
    _write_json(folder / "config.json", arguments)
    if sizes_file is not None:
        _write_json(folder / sizes_file, model.sizes)
    for name, tokens, size in (
        ("char.dic", CHARACTERS, "char_dim"),
        ("word.dic", WORDS, "word_dim"),
    ):
        if model.sizes["token_embedder"][size]:
            text = "".join(f"{token}\t{number}\n" for number, token in enumerate(tokens))
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for name, tensors in (("token_embedder.pkl", model.embedder), ("encoder.pkl", model.encoder)):
        torch.save(tensors, folder / name, _use_new_zipfile_serialization=zipped)
    return folder


def _write_json(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")


def assert_close(found: list[npt.NDArray[np.float32]], expected: list[Array]) -> None:
    for vectors, reference in zip(found, expected, strict=True):
        assert vectors.shape == reference.shape
        assert np.abs(vectors - reference).max() <= TOLERANCE


def compare(folder: Path, model: Model) -> None:
    elmo = elmokit.load(folder, start="zeros", device="cpu")
    assert elmo.source_format == "many-langs"
    expected = model.layers(SENTENCES)
    assert_close(elmo.embed(SENTENCES, layers="all"), expected)
    spread = np.concatenate(expected, axis=1).std(axis=(1, 2))
    assert (spread > 0.2).all(), "layers close to zero would agree whatever they hold"


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize(
    ("word_dim", "char_dim"), [(6, 5), (0, 5), (6, 0)], ids=["both", "characters", "words"]
)
def test_inputs(tmp_path: Path, word_dim: int, char_dim: int, zipped: bool) -> None:
    model = make_model(word_dim=word_dim, char_dim=char_dim)
    folder = write_model(tmp_path, model, zipped=zipped)
    is_zip = (folder / "encoder.pkl").read_bytes()[:2] == b"PK"
    assert is_zip == zipped
    assert (folder / "word.dic").exists() == bool(word_dim)
    assert (folder / "char.dic").exists() == bool(char_dim)
    compare(folder, model)


@pytest.mark.parametrize("highway", [0, 1])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_characters(tmp_path: Path, activation: str, highway: int) -> None:
    model = make_model(activation=activation, highway=highway)
    compare(write_model(tmp_path, model), model)


@pytest.mark.parametrize("layers", [1, 3])
def test_depths(tmp_path: Path, layers: int) -> None:
    """The skip connection needs no option: it is always there from the second layer on."""
    model = make_model(layers=layers)
    compare(write_model(tmp_path, model), model)


def test_clips(tmp_path: Path) -> None:
    model = make_model(clip=0.5)
    largest = Largest()
    model.layers(SENTENCES, largest=largest)
    assert largest.cell > 0.7
    assert largest.hidden > 0.7
    compare(write_model(tmp_path, model), model)


def test_average_is_the_default_output(tmp_path: Path) -> None:
    """Their output -1 is the mean of the layers, as is ours by default."""
    model = make_model()
    elmo = elmokit.load(write_model(tmp_path, model), start="zeros", device="cpu")
    for vectors, expected in zip(elmo.embed(SENTENCES), model.layers(SENTENCES), strict=True):
        assert np.abs(vectors - expected.mean(axis=0)).max() <= TOLERANCE


def test_carried_state(tmp_path: Path) -> None:
    model = make_model()
    elmo = elmokit.load(write_model(tmp_path, model), start="carry", device="cpu")
    states: list[State] = [{}, {}]
    for batch in (SENTENCES[:2], SENTENCES[2:4], SENTENCES[4:5], SENTENCES[5:]):
        assert_close(elmo.embed(batch, layers="all"), model.layers(batch, states=states))


@pytest.mark.parametrize(
    "config_path",
    [
        "/users4/somebody/configs/cnn_small.json",
        "C:\\Users\\somebody\\configs\\cnn_small.json",
        "configs/cnn_small.json",
        "./cnn_small.json",
        "cnn_small.json",
    ],
)
def test_config_path_found_by_its_name(tmp_path: Path, config_path: str) -> None:
    model = make_model(word_dim=0)
    compare(write_model(tmp_path, model, config_path=config_path), model)


def test_config_path_followed_where_it_leads(tmp_path: Path) -> None:
    model = make_model(word_dim=0)
    elsewhere = tmp_path / "configs"
    elsewhere.mkdir()
    _write_json(elsewhere / "sizes.json", model.sizes)
    folder = write_model(
        tmp_path / "model", model, config_path=str(elsewhere / "sizes.json"), sizes_file=None
    )
    compare(folder, model)
    # As seen from the model's folder, not from where the program was started.
    folder = write_model(
        tmp_path / "other", model, config_path="../configs/sizes.json", sizes_file=None
    )
    compare(folder, model)


@pytest.mark.parametrize("config_path", [None, "", "/users4/somebody/cnn_50_100_512_4096.json"])
def test_stock_sizes_without_a_config(
    tmp_path: Path, config_path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All published models have the same sizes, so a folder may lack them."""
    model = make_model()
    folder = write_model(tmp_path, model, config_path=config_path, sizes_file=None)
    with pytest.raises(elmokit.FormatError, match="shape") as caught:
        elmokit.load(folder, device="cpu")
    assert str((len(WORDS), 6)) in str(caught.value)
    assert str((len(WORDS), 100)) in str(caught.value)
    # A model of the published sizes is too large for a test: make these the published ones.
    monkeypatch.setattr(many_langs, "STOCK_SIZES", model.sizes)
    compare(folder, model)


def test_stock_sizes() -> None:
    """The published cnn_50_100_512_4096_sample.json."""
    sizes = many_langs.STOCK_SIZES
    assert sizes["encoder"] == {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    }
    embedder = sizes["token_embedder"]
    assert (embedder["word_dim"], embedder["char_dim"]) == (100, 50)
    assert embedder["max_characters_per_token"] == 50
    assert (embedder["activation"], embedder["n_highway"]) == ("relu", 2)
    assert sum(number for _, number in embedder["filters"]) == 2048


def test_one_field_line_is_the_ideographic_space(tmp_path: Path) -> None:
    """The dictionaries are read with white space cut off, which takes U+3000 along."""
    model = make_model()
    folder = write_model(tmp_path, model)
    for name, tokens in (("char.dic", CHARACTERS), ("word.dic", WORDS)):
        text = (folder / name).read_text(encoding="utf-8")
        line = f"\u3000\t{tokens.index(chr(0x3000))}\n"
        assert line in text
        bare = text.replace(line, line.strip() + "\n")
        (folder / name).write_text(bare, encoding="utf-8", newline="\n")
    elmo = elmokit.load(folder, device="cpu")
    assert elmo.characters == tuple(CHARACTERS)
    assert elmo.vocabulary is not None
    assert elmo.vocabulary.words == tuple(WORDS)
    compare(folder, model)
    # The ideographic space is a character of its own: not the unknown one.
    spaced, unknown = model.layers([["a\u3000b"], ["a😀b"]])
    assert np.abs(spaced[0] - unknown[0]).max() > 0.01


def test_dictionary_in_any_order(tmp_path: Path) -> None:
    model = make_model()
    folder = write_model(tmp_path, model)
    for name in ("char.dic", "word.dic"):
        lines = (folder / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        text = "".join(f"{line}\r\n" for line in reversed(lines))
        (folder / name).write_text(text, encoding="utf-8", newline="")
    compare(folder, model)


def test_long_words_are_cut_before_they_are_looked_up(tmp_path: Path) -> None:
    model = make_model()
    elmo = elmokit.load(write_model(tmp_path, model), start="zeros", device="cpu")
    long, cut, other = elmo.embed([["abcdefghij" * 3], [WORDS[12]], ["abcdefghij" * 2]], layers=0)
    assert np.abs(long - cut).max() <= TOLERANCE
    assert np.abs(other - cut).max() <= TOLERANCE
    (shorter,) = elmo.embed([[WORDS[12][:-1]]], layers=0)
    assert np.abs(shorter - cut).max() > 0.01


def test_unknown_words_share_a_word_vector(tmp_path: Path) -> None:
    model = make_model(char_dim=0)
    elmo = elmokit.load(write_model(tmp_path, model), start="zeros", device="cpu")
    unseen, other, mark = elmo.embed([["Unseen"], ["龘"], ["<oov>"]], layers="all")
    assert np.abs(unseen - mark).max() <= TOLERANCE
    assert np.abs(other - mark).max() <= TOLERANCE


def test_native_after_conversion(tmp_path: Path) -> None:
    """The dictionaries, the cut and the marks survive; so does the way back."""
    model = make_model()
    expected = model.layers(SENTENCES)
    source = write_model(tmp_path / "original", model)
    detect.write(detect.read(source), tmp_path / "native", form="native")
    detect.write(detect.read(tmp_path / "native"), tmp_path / "back", form="many-langs")
    shutil.rmtree(source)
    for name in ("native", "back"):
        elmo = elmokit.load(tmp_path / name, start="zeros", device="cpu")
        assert_close(elmo.embed(SENTENCES, layers="all"), expected)
