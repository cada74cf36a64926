"""The native folder: every way in which it can be wrong, and how it is written."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor

import elmokit
from elmokit.config import ModelConfig
from elmokit.formats import detect, native
from elmokit.text.vocabulary import Vocabulary
from unit.formats.small_checkpoints import (
    BASE,
    BILM_CONFIGS,
    MANY_LANGS,
    WORDS,
    assert_same,
    change_json,
    contents,
    model,
    refuses,
    refuses_input,
    setting,
    sign,
    vocabulary,
    within,
    without,
)

GATES = "forward_lstm.layers.0.input_weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    native.write(model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def word_folder(tmp_path: Path) -> Path:
    native.write(model(replace(WORDS, softmax_size=7)), tmp_path / "words")
    return tmp_path / "words"


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Edit the tensors and sign the folder anew: what somebody wrote wrong, not damage."""
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    change(tensors)
    safetensors.torch.save_file(tensors, file)
    sign(folder)


def change_config(folder: Path, path: str, value: object) -> None:
    change_json(folder / "config.json", setting(path, value))
    sign(folder)


# What is written.


def test_files(tmp_path: Path) -> None:
    native.write(model(MANY_LANGS), tmp_path / "model")
    names = {"config.json", "model.safetensors", "vocabulary.txt", "characters.txt"}
    assert {file.name for file in (tmp_path / "model").iterdir()} == names | {"manifest.json"}
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest.keys() == {"files"}
    assert manifest["files"].keys() == names
    assert all(facts.keys() == {"size", "sha256"} for facts in manifest["files"].values())
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["format_version"] == 1
    assert config.keys() == {"format_version", "metadata", "model"}


def test_a_file_that_the_manifest_does_not_list_is_passed_over(folder: Path) -> None:
    (folder / "README.md").write_text("mine", encoding="utf-8")
    assert_same(native.read(folder), model())


# The manifest.


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocabulary.txt"])
@pytest.mark.parametrize("position", [0, 0.5, -1])
def test_a_flipped_bit(word_folder: Path, name: str, position: float) -> None:
    octets = bytearray((word_folder / name).read_bytes())
    octets[int(position * len(octets)) if position >= 0 else -1] ^= 1
    (word_folder / name).write_bytes(octets)
    with refuses(word_folder / name, "damaged or edited", "SHA-256", "(manifest)", "get the file"):
        native.read(word_folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocabulary.txt"])
@pytest.mark.parametrize("change", [-1, 1])
def test_another_length(word_folder: Path, name: str, change: int) -> None:
    octets = (word_folder / name).read_bytes()
    (word_folder / name).write_bytes(octets[:-1] if change < 0 else octets + b"\n")
    size = len(octets)
    with refuses(
        word_folder / name, "damaged", f"expected {size} (manifest), found {size + change} bytes"
    ):
        native.read(word_folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocabulary.txt"])
def test_a_missing_file(word_folder: Path, name: str) -> None:
    (word_folder / name).unlink()
    with refuses(word_folder / name, "missing, though the manifest lists it"):
        native.read(word_folder)
    (word_folder / name).mkdir()
    with refuses(word_folder / name, "missing, though the manifest lists it"):
        native.read(word_folder)


def test_no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    with refuses(folder / "manifest.json", "cannot be read (No such file"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not valid JSON"),
        ("{}", "(key 'files'): expected an object"),
        ("[]", "expected an object, found list"),
        ('{"files": []}', "(key 'files'): expected an object"),
        ('{"files": {}}', "file not listed (key 'config.json')"),
        ('{"files": {"config.json": {}}}', "file not listed (key 'model.safetensors')"),
        ('{"files": {"config.json": 1, "model.safetensors": 1}}', "expected size and sha256"),
    ],
)
def test_a_wrong_manifest(folder: Path, text: str, problem: str) -> None:
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    with refuses(folder / "manifest.json", problem):
        native.read(folder)


@pytest.mark.parametrize("key", ["size", "sha256"])
def test_a_manifest_without_facts(folder: Path, key: str) -> None:
    def change(values: dict[str, Any]) -> None:
        del values["files"]["config.json"][key]

    change_json(folder / "manifest.json", change)
    with refuses(folder / "manifest.json", "(key 'config.json'): expected size and sha256"):
        native.read(folder)


@pytest.mark.parametrize("value", [None, True, "12", [], -1, 1e300])
@pytest.mark.parametrize("key", ["size", "sha256"])
def test_a_manifest_with_wrong_facts(folder: Path, key: str, value: object) -> None:
    def change(values: dict[str, Any]) -> None:
        values["files"]["config.json"][key] = value

    change_json(folder / "manifest.json", change)
    with refuses(folder / "config.json", "damaged", f"expected {value} (manifest)"):
        native.read(folder)


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/etc/passwd", "a/b", "../../etc/passwd", "./config.json", "a/"]
)
def test_a_manifest_that_points_outside(folder: Path, name: str) -> None:
    (folder.parent / "outside.txt").write_text("x", encoding="utf-8")

    def change(values: dict[str, Any]) -> None:
        values["files"][name] = {"size": 1, "sha256": "x"}

    change_json(folder / "manifest.json", change)
    with refuses(folder / "manifest.json", f"file outside the folder (key {name!r})"):
        native.read(folder)


@pytest.mark.parametrize("name", ["", ".", "..", "a\0b", "\ud800", "absent"])
def test_a_manifest_that_lists_no_file(folder: Path, name: str) -> None:
    def change(values: dict[str, Any]) -> None:
        values["files"][name] = {"size": 1, "sha256": "x"}

    change_json(folder / "manifest.json", change)
    with pytest.raises(elmokit.FormatError, match=r"missing, though|outside the folder"):
        native.read(folder)


def test_a_manifest_with_a_name_that_is_too_long(folder: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        values["files"]["a" * 300] = {"size": 1, "sha256": "x"}

    change_json(folder / "manifest.json", change)
    with pytest.raises(elmokit.FormatError, match="aaa"):
        native.read(folder)


def test_a_manifest_that_has_lost_a_line(tmp_path: Path) -> None:
    """A softmax can do without its words, so nothing else would tell that they are gone."""
    native.write(model(replace(BASE, softmax_size=9)), tmp_path / "model")
    change_json(tmp_path / "model" / "manifest.json", lambda v: v["files"].pop("vocabulary.txt"))
    with refuses(tmp_path / "model" / "manifest.json", "vocabulary.txt"):
        native.read(tmp_path / "model")


# config.json.


@pytest.mark.parametrize("version", [None, 0, 3, "1", [1], 1.5])
def test_another_version(folder: Path, version: object) -> None:
    change_config(folder, "format_version", version)
    with refuses(
        folder / "config.json",
        "unknown version",
        "(key 'format_version')",
        f"expected 1 or 2, found {version!r}",
        "newer elmokit",
    ):
        native.read(folder)


@pytest.mark.parametrize("version", [True, 1.0])
def test_a_version_that_only_looks_right(folder: Path, version: object) -> None:
    change_config(folder, "format_version", version)
    with refuses(folder / "config.json", "unknown version"):
        native.read(folder)


def test_no_version(folder: Path) -> None:
    change_json(folder / "config.json", without("format_version"))
    sign(folder)
    with refuses(folder / "config.json", "unknown version", "expected 1 or 2, found None"):
        native.read(folder)


def test_an_unknown_key(folder: Path) -> None:
    change_config(folder, "zusatz", 1)
    with refuses(folder / "config.json", "unknown key (key 'zusatz')"):
        native.read(folder)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("model", None, "model: expected an object, found None"),
        ("model", [], "model: expected an object, found []"),
        ("model.layer", 2, "model: unknown key 'layer'; known keys are cell_clip, "),
        ("model.characters.size", 2, "model.characters: unknown key 'size'"),
        ("model.marks.start", "<s>", "model.marks: unknown key 'start'"),
        ("model.layers", "2", "model.layers: expected int, found '2'"),
        ("model.layers", 2.0, "model.layers: expected int, found 2.0"),
        ("model.layers", True, "model.layers: expected int, found True"),
        ("model.layers", None, "model.layers: expected int, found None"),
        ("model.layers", 0, "layers: expected 1 to 1000, found 0"),
        ("model.cell_clip", "3", "model.cell_clip: expected float, found '3'"),
        ("model.cell_clip", 0, "cell_clip: expected a number above 0, found 0.0"),
        ("model.cell_clip", float("nan"), "cell_clip: expected a number above 0, found nan"),
        ("model.skip_connections", 1, "model.skip_connections: expected bool, found 1"),
        ("model.marks", None, "model.marks: expected an object, found None"),
        ("model.marks.begin", 5, "model.marks.begin: expected str, found 5"),
        ("model.characters", 5, "model.characters: expected an object, found 5"),
        ("model.characters", None, "characters, words: a model needs at least one"),
        ("model.characters.alphabet", "utf-16", "expected one of ['bytes', 'dictionary'], found"),
        ("model.characters.filters", [[1]], "expected 2 values, found [1]"),
        ("model.characters.filters", "12", "expected a list, found '12'"),
        ("model.characters.filters", [], "expected at least one (width, number) pair"),
        ("model.characters.alphabet_size", 260, "at least 261 rows, found 260"),
        ("model.characters.activation", ["relu"], "expected one of ['relu', 'tanh'], found"),
        ("model.words", {}, "model.words: "),
        ("model.words", {"vocabulary_size": 1}, "embedding_dim"),
        ("model.lstm_projection", False, "lstm_dim and projection_dim are equal, found 6 and 4"),
        ("model.token_projection", False, "size projection_dim (4), found 5"),
        ("metadata", [], "(key 'metadata'): expected an object of strings"),
        ("metadata", {"a": 1}, "(key 'metadata'): expected an object of strings"),
        ("metadata", {"a": None}, "(key 'metadata'): expected an object of strings"),
    ],
)
def test_a_wrong_config(folder: Path, path: str, value: object, problem: str) -> None:
    change_config(folder, path, value)
    with refuses(folder / "config.json", problem):
        native.read(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.cell_clip", 10**400),
        ("model.projection_clip", 10**400),
        ("model.forget_bias", 10**400),
        ("model.forget_bias", float("nan")),
        ("model.forget_bias", float("inf")),
        ("model.characters.max_characters", 10**12),
    ],
)
def test_numbers_beyond_all_bounds(folder: Path, path: str, value: object) -> None:
    change_config(folder, path, value)
    with refuses(folder / "config.json", path.rsplit(".", maxsplit=1)[-1]):
        native.read(folder)


@pytest.mark.parametrize("digits", [400, 4300])
@pytest.mark.parametrize(
    "path",
    [
        "model.lstm_dim",
        "model.projection_dim",
        "model.softmax_size",
        "model.characters.alphabet_size",
        "model.characters.embedding_dim",
    ],
)
def test_sizes_beyond_all_bounds(folder: Path, path: str, digits: int) -> None:
    """JSON gives up at 4301 digits only, and so does the text of a shape made of them."""
    change_config(folder, path, int("9" * digits))
    with pytest.raises(elmokit.FormatError):
        native.read(folder)


@pytest.mark.parametrize("path", ["model.layers", "model.characters.highway_layers"])
def test_more_layers_than_anyone_can_count(folder: Path, path: str) -> None:
    change_config(folder, path, 10**9)
    with within(0.7), pytest.raises(elmokit.FormatError, match=r"layers|highway"):
        native.read(folder)


def test_config_of_another_model(folder: Path) -> None:
    for path, value, key in [
        ("model.layers", 3, "forward_lstm.layers.2.input_weight"),
        ("model.softmax_size", 9, "softmax.weight"),
    ]:
        change_config(folder, path, value)
        with refuses(folder / "model.safetensors", f"tensor missing (key {key!r})", "shape ("):
            native.read(folder)
        change_config(folder, path, {"layers": 2}.get(path.split(".")[1]))
    change_config(folder, "model.layers", 1)
    with refuses(
        folder / "model.safetensors", "unknown tensor (key 'backward_lstm.layers.1.bias')"
    ):
        native.read(folder)
    change_config(folder, "model.layers", 2)
    change_config(folder, "model.lstm_dim", 7)
    with refuses(
        folder / "model.safetensors", "wrong shape", f"(key {GATES!r})", "(28, 4), found (24, 4)"
    ):
        native.read(folder)


def test_an_unknown_tokeniser(folder: Path) -> None:
    change_config(folder, "model.tokeniser", "sentencepiece")
    with pytest.raises(elmokit.FormatError, match=r"'sentencepiece': expected one of words, white"):
        native.read(folder)


def test_an_untrained_model_without_a_name(folder: Path) -> None:
    change_config(folder, "metadata", {"trained": "no"})
    with pytest.warns(UserWarning, match="untrained"):
        elmokit.load(folder, device="cpu")


# Tensors.


@pytest.mark.parametrize("name", sorted(model().tensors))
def test_a_missing_tensor(folder: Path, name: str) -> None:
    shape = tuple(model().tensors[name].shape)
    change_tensors(folder, lambda tensors: tensors.pop(name))
    with refuses(
        folder / "model.safetensors", f"tensor missing (key {name!r}): expected shape {shape}"
    ):
        native.read(folder)


def test_an_unknown_tensor(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"extra.weight": torch.zeros(1)}))
    with refuses(folder / "model.safetensors", "unknown tensor (key 'extra.weight')"):
        native.read(folder)


@pytest.mark.parametrize("name", sorted(model().tensors))
def test_a_tensor_of_another_shape(folder: Path, name: str) -> None:
    shape = tuple(model().tensors[name].shape)
    changed = (*shape[:-1], shape[-1] + 1)
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(changed)}))
    with refuses(
        folder / "model.safetensors",
        "wrong shape",
        f"(key {name!r}): expected {shape}, found {changed}",
    ):
        native.read(folder)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool, torch.uint8]
)
def test_a_tensor_of_another_type(folder: Path, dtype: torch.dtype) -> None:
    change_tensors(folder, lambda tensors: tensors.update({GATES: tensors[GATES].to(dtype)}))
    with refuses(
        folder / "model.safetensors",
        f"wrong number type (key {GATES!r}): expected torch.float32, found {dtype}",
    ):
        native.read(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", [GATES, "token_encoder.characters.embedding.weight"])
def test_values_that_are_no_numbers(folder: Path, name: str, value: float) -> None:
    change_tensors(folder, lambda tensors: tensors[name].view(-1)[-1].fill_(value))
    with refuses(folder / "model.safetensors", f"NaN or infinity (key {name!r})", "diverged"):
        native.read(folder)


def test_an_incomplete_start_state(folder: Path) -> None:
    elmokit.load(folder, device="cpu").save(folder.with_name("saved"))
    saved = folder.with_name("saved")
    name = "start_state.backward.hidden"
    change_tensors(saved, lambda tensors: tensors.pop(name))
    with refuses(saved / "model.safetensors", f"tensor missing (key {name!r}): expected shape (2"):
        native.read(saved)
    change_tensors(saved, lambda tensors: tensors.update({name: torch.zeros(2, 5)}))
    with refuses(saved / "model.safetensors", f"(key {name!r}): expected (2, 4), found (2, 5)"):
        native.read(saved)
    change_tensors(saved, lambda tensors: tensors.update({name: torch.full((2, 4), torch.nan)}))
    with refuses(saved / "model.safetensors", f"NaN or infinity (key {name!r})"):
        native.read(saved)


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"\x08",
        bytes(8),
        b"\xff" * 8,
        b"\x02" + bytes(7) + b"{}",
        b"\x05" + bytes(7) + b"[1,2]",
        b"PK\x03\x04" * 9,
        b"<!DOCTYPE html>" * 9,
    ],
)
def test_not_safetensors(folder: Path, octets: bytes) -> None:
    (folder / "model.safetensors").write_bytes(octets)
    sign(folder)
    with refuses(folder / "model.safetensors"):
        native.read(folder)


def test_truncated_safetensors(folder: Path) -> None:
    octets = (folder / "model.safetensors").read_bytes()
    for cut in (4, 8, 100, len(octets) // 2, len(octets) - 1):
        (folder / "model.safetensors").write_bytes(octets[:cut])
        sign(folder)
        with refuses(folder / "model.safetensors", "is not a readable safetensors file"):
            native.read(folder)


# Word lists.


@pytest.mark.parametrize("count", [0, 3, 6, 8])
def test_vocabulary_of_another_length(tmp_path: Path, count: int) -> None:
    folder = tmp_path / "words"
    words = Vocabulary(vocabulary(20).words[:count])
    native.write(replace(model(WORDS), vocabulary=words), folder)
    found = f"expected 7, found {count} words" if count else "lacks a mark"
    with refuses(folder / "vocabulary.txt", "vocabulary", found):
        native.read(folder)


def test_softmax_vocabulary_of_another_length(tmp_path: Path) -> None:
    checkpoint = replace(model(replace(BASE, softmax_size=9)), vocabulary=vocabulary(8))
    native.write(checkpoint, tmp_path / "model")
    with refuses(
        tmp_path / "model" / "vocabulary.txt",
        "vocabulary and softmax differ in size: expected 9, found 8 words",
    ):
        native.read(tmp_path / "model")
    assert native.read(tmp_path / "model", softmax=False).config == BASE


@pytest.mark.parametrize("mark", ["<S>", "</S>", "<UNK>"])
def test_vocabulary_without_a_mark(tmp_path: Path, mark: str) -> None:
    words = Vocabulary("other" if word == mark else word for word in vocabulary(7).words)
    native.write(replace(model(WORDS), vocabulary=words), tmp_path / "model")
    with refuses(
        tmp_path / "model" / "vocabulary.txt", f"vocabulary lacks a mark: expected {mark}"
    ):
        native.read(tmp_path / "model")


def test_no_vocabulary(tmp_path: Path) -> None:
    native.write(replace(model(WORDS), vocabulary=None), tmp_path / "model")
    with refuses(tmp_path / "model" / "model.safetensors", "vocabulary missing", "vocabulary="):
        native.read(tmp_path / "model")


@pytest.mark.parametrize("characters", [None, (), ("a",) * 9, ("a",) * 11])
def test_characters_of_another_number(tmp_path: Path, characters: tuple[str, ...] | None) -> None:
    native.write(replace(model(MANY_LANGS), characters=characters), tmp_path / "model")
    with refuses(
        tmp_path / "model" / "characters.txt",
        f"differ in size: expected 10, found {len(characters or ())} characters",
    ):
        native.read(tmp_path / "model")


@pytest.mark.parametrize("mark", ["<bow>", "<eow>", "<bos>", "<eos>", "<pad>", "<oov>"])
def test_characters_without_a_mark(tmp_path: Path, mark: str) -> None:
    checkpoint = model(MANY_LANGS)
    characters = tuple("x" if entry == mark else entry for entry in checkpoint.characters or ())
    native.write(replace(checkpoint, characters=characters), tmp_path / "model")
    with refuses(tmp_path / "model" / "characters.txt", f"dictionary lacks the mark {mark!r}"):
        native.read(tmp_path / "model")


@pytest.mark.parametrize(
    ("octets", "problem"),
    [(b"<S>\n</S>", "the last line does not end"), (b"\xff\n", "is not UTF-8 text (byte 0)")],
)
def test_a_vocabulary_file_that_is_none(word_folder: Path, octets: bytes, problem: str) -> None:
    (word_folder / "vocabulary.txt").write_bytes(octets)
    sign(word_folder)
    with refuses(word_folder / "vocabulary.txt", problem):
        native.read(word_folder)


# Writing.


def test_what_is_there_is_kept(folder: Path) -> None:
    before = contents(folder.parent)
    with refuses_input(str(folder), "exists already", "overwrite"):
        native.write(model(seed=1), folder)
    assert contents(folder.parent) == before


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    native.write(model(), tmp_path / "model")
    assert_same(native.read(tmp_path / "model"), model())


def test_overwriting(word_folder: Path) -> None:
    native.write(model(seed=1), word_folder, overwrite=True)
    assert_same(native.read(word_folder), model(seed=1))
    assert "vocabulary.txt" not in contents(word_folder)
    assert [path.name for path in word_folder.parent.iterdir()] == [word_folder.name]


def test_elmo_save_follows_the_same_rules(folder: Path) -> None:
    elmo = elmokit.load(folder, device="cpu")
    with refuses_input(str(folder), "exists already"):
        elmo.save(folder)
    assert_same(native.read(folder), model())
    elmo.save(folder, overwrite=True)
    assert "start_state.forward.cell" in native.read(folder).tensors


@pytest.mark.parametrize("step", ["write_json", "_write_lines", "write_manifest"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_whole_or_not_there(
    step: str, overwrite: bool, word_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not overwrite:
        shutil.rmtree(word_folder)
    before = contents(word_folder.parent)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(native, step, fail)
    with pytest.raises(OSError, match="disk full"):
        native.write(model(WORDS), word_folder, overwrite=overwrite)
    assert contents(word_folder.parent) == before


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors.torch, "save_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        native.write(model(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for parent in ("absent", "absent/below", "file"):
        with refuses_input(str(tmp_path / parent), "is not a folder; create it first"):
            native.write(model(), tmp_path / parent / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("config", [WORDS, MANY_LANGS])
@pytest.mark.parametrize("line", ["two\nlines", "\n"])
def test_words_that_cannot_be_written(config: ModelConfig, line: str, tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6).words, line])
    with refuses_input("word 6 holds a line end and cannot be written", repr(line)):
        native.write(replace(model(config), vocabulary=words), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["vocabulary", "metadata"])
def test_text_without_bytes(place: str, tmp_path: Path) -> None:
    if place == "vocabulary":
        checkpoint = replace(model(WORDS), vocabulary=Vocabulary([*vocabulary(6).words, "\ud800"]))
    else:
        checkpoint = replace(model(WORDS), metadata={"name": "\ud800"})
    with refuses_input("cannot be written"):
        native.write(checkpoint, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("config", BILM_CONFIGS.values(), ids=BILM_CONFIGS)
def test_every_config_is_read_from_its_own_json(config: ModelConfig) -> None:
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
