"""Training checkpoints of bilm-tf: their names, which one is meant, and what is refused."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import elmokit
from elmokit.config import ModelConfig
from elmokit.formats import detect, tf_checkpoint
from elmokit.formats.checkpoint import Checkpoint
from elmokit.formats.tensor_bundle import TensorBundle, write_bundle
from elmokit.text.vocabulary import Vocabulary
from unit.formats.small_checkpoints import (
    BASE,
    CHARACTERS,
    WORDS,
    assert_same,
    change_json,
    contents,
    model,
    refuses,
    refuses_input,
    setting,
    vocabulary,
    without,
)

Arrays = dict[str, Any]

INDEX = "model.ckpt-0.index"
DATA = "model.ckpt-0.data-00000-of-00001"
CELL = "lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tf_checkpoint.write(model(replace(BASE, softmax_size=9)), tmp_path / "model")
    return tmp_path / "model"


def expected() -> Checkpoint:
    return model(replace(BASE, softmax_size=9))


def written(folder: Path, config: ModelConfig) -> Path:
    tf_checkpoint.write(model(config), folder)
    return folder


def change_arrays(folder: Path, change: Callable[[Arrays], object]) -> None:
    bundle = TensorBundle(folder / "model.ckpt-0")
    arrays = {name: bundle.read(name) for name in bundle.names}
    change(arrays)
    write_bundle(folder / "model.ckpt-0", arrays)


def test_files_and_names(folder: Path) -> None:
    names = {INDEX, DATA, "options.json", "vocab.txt", "checkpoint"}
    assert {file.name for file in folder.iterdir()} == names
    bundle = TensorBundle(folder / "model.ckpt-0")
    assert {
        "lm/char_embed",
        "lm/CNN/W_cnn_0",
        "lm/CNN_high_0/W_carry",
        "lm/CNN_proj/b_proj",
        f"{CELL}/kernel",
        f"{CELL}/bias",
        f"{CELL}/projection/kernel",
        "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel",
        "lm/softmax/W",
        "lm/softmax/b",
    } <= set(bundle.names)
    assert bundle.shape(f"{CELL}/kernel") == (8, 24)


def test_one_layer_lacks_the_level_of_many(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", replace(BASE, layers=1))
    names = TensorBundle(folder / "model.ckpt-0").names
    assert "lm/RNN_0/rnn/lstm_cell/kernel" in names
    assert not any("multi_rnn_cell" in name for name in names)


@pytest.mark.parametrize("source", ["", "model.ckpt-0", INDEX, DATA])
def test_every_way_to_name_it(folder: Path, source: str) -> None:
    path = folder / source if source else folder
    assert detect.detect(path) == "tf-checkpoint"
    assert_same(detect.read(path), expected())
    assert elmokit.load(path, device="cpu").source_format == "tf-checkpoint"


def test_named_from_within(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for source in ("model.ckpt-0", INDEX, "."):
        assert elmokit.load(source, device="cpu").config == BASE
    for file in (INDEX, DATA):
        (folder / file).rename(folder / file.replace("model.ckpt-0", "model"))
    assert elmokit.load("model", device="cpu").config == BASE


def copy_checkpoint(folder: Path, name: str) -> None:
    for file in (INDEX, DATA):
        shutil.copy(folder / file, folder / file.replace("model.ckpt-0", name))


def test_the_latest_of_several(folder: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", replace(BASE, softmax_size=9, skip_connections=False))
    change_arrays(other, lambda arrays: arrays["lm/softmax/b"].fill(0.25))
    for file in (INDEX, DATA):
        shutil.copy(other / file, folder / file.replace("ckpt-0", "ckpt-99"))
    for note in (
        'model_checkpoint_path: "model.ckpt-99"\nall_model_checkpoint_paths: "model.ckpt-0"\n',
        'model_checkpoint_path: "/home/somebody/run/model.ckpt-99"\n',
        'model_checkpoint_path: "C:\\\\run\\\\model.ckpt-99"\n',
    ):
        (folder / "checkpoint").write_text(note, encoding="utf-8")
        assert bool((detect.read(folder).tensors["softmax.bias"] == 0.25).all())
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-0"', encoding="utf-8")
    assert_same(detect.read(folder), expected())


@pytest.mark.parametrize("note", [None, "", "nonsense", 'model_checkpoint_path: "model.ckpt-7"'])
def test_several_and_no_telling(folder: Path, note: str | None) -> None:
    copy_checkpoint(folder, "model.ckpt-9")
    (folder / "checkpoint").unlink()
    if note is not None:
        (folder / "checkpoint").write_text(note, encoding="utf-8")
    with refuses(
        folder, f"expected one checkpoint, found {INDEX}, model.ckpt-9.index", "name its index"
    ):
        detect.read(folder)
    assert_same(detect.read(folder / "model.ckpt-9"), expected())


def test_a_note_that_is_not_text(folder: Path) -> None:
    copy_checkpoint(folder, "model.ckpt-9")
    (folder / "checkpoint").write_bytes(b"\xff")
    with refuses(folder / "checkpoint", "is not UTF-8 text"):
        detect.read(folder)


def test_options_and_vocabulary_elsewhere(folder: Path, tmp_path: Path) -> None:
    options = (folder / "options.json").rename(tmp_path / "settings.json")
    words = (folder / "vocab.txt").rename(tmp_path / "words.txt")
    with refuses(folder, "no options file in this folder", "options="):
        detect.read(folder)
    assert_same(detect.read(folder, options=options, vocabulary=words), expected())
    found = detect.read(folder / INDEX, options=options)
    assert_same(found, replace(expected(), vocabulary=None))
    with refuses_input("token_embedding", "tf-checkpoint"):
        detect.read(folder, options=options, token_embedding=tmp_path / "tokens.hdf5")


def test_the_optimiser_is_passed_over(folder: Path) -> None:
    def change(arrays: Arrays) -> None:
        more = {f"{name}/Adagrad": array + 1 for name, array in arrays.items()}
        arrays |= more | {"lm/global_step": np.array(5, np.int64), "beta1_power": np.array(0.9)}

    change_arrays(folder, change)
    assert_same(detect.read(folder), expected())


@pytest.mark.parametrize("kind", ["<f8", "<f2"])
def test_other_floats(folder: Path, kind: str) -> None:
    def change(arrays: Arrays) -> None:
        arrays["lm/softmax/b"] = arrays["lm/softmax/b"].astype(kind)

    change_arrays(folder, change)
    values = expected().tensors["softmax.bias"].numpy().astype(kind).astype(np.float32)
    assert torch.equal(detect.read(folder).tensors["softmax.bias"], torch.from_numpy(values))


def test_shared_embedding_and_softmax(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", replace(WORDS, softmax_size=7))
    change_arrays(folder, lambda arrays: arrays.pop("lm/softmax/W"))
    change_json(folder / "options.json", setting("share_embedding_softmax", True))
    found = detect.read(folder)
    words = model(WORDS).tensors["token_encoder.words.weight"]
    assert torch.equal(found.tensors["softmax.weight"], words)


def test_a_missing_softmax_is_not_the_embedding(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", replace(WORDS, softmax_size=7))
    change_arrays(folder, lambda arrays: arrays.pop("lm/softmax/W"))
    with refuses(folder / INDEX, "array missing (key 'lm/softmax/W')"):
        detect.read(folder)


# What is refused.

NAMES = [
    "lm/char_embed",
    "lm/CNN/W_cnn_1",
    "lm/CNN_high_0/b_transform",
    "lm/CNN_proj/W_proj",
    f"{CELL}/kernel",
    f"{CELL}/bias",
    f"{CELL}/projection/kernel",
    "lm/softmax/W",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_array(folder: Path, name: str) -> None:
    change_arrays(folder, lambda arrays: arrays.pop(name))
    with refuses(folder / INDEX, f"array missing (key {name!r})"):
        detect.read(folder)


@pytest.mark.parametrize("name", NAMES)
def test_an_array_of_another_shape(folder: Path, name: str) -> None:
    shape = TensorBundle(folder / "model.ckpt-0").shape(name)
    changed = (*shape[:-1], shape[-1] + 1)
    change_arrays(folder, lambda arrays: arrays.update({name: np.zeros(changed, np.float32)}))
    with refuses(
        folder / INDEX,
        f"wrong shape (key {name!r}): expected {shape} by the options, found {changed}",
    ):
        detect.read(folder)


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_an_array_that_is_not_float(folder: Path, kind: str) -> None:
    def change(arrays: Arrays) -> None:
        arrays[f"{CELL}/bias"] = np.zeros(24, kind)

    change_arrays(folder, change)
    with refuses(
        folder / INDEX,
        f"wrong number type (key '{CELL}/bias'): expected floating point, found {np.dtype(kind)}",
    ):
        detect.read(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_no_numbers(folder: Path, name: str, value: float) -> None:
    def change(arrays: Arrays) -> None:
        arrays[name].flat[-1] = value

    change_arrays(folder, change)
    with refuses(folder / INDEX, "NaN or infinity (key '"):
        detect.read(folder)


def test_doubles_beyond_float32(folder: Path) -> None:
    def change(arrays: Arrays) -> None:
        arrays["lm/char_embed"] = arrays["lm/char_embed"].astype(np.float64) * 1e300

    change_arrays(folder, change)
    with refuses(folder / INDEX, "NaN or infinity"):
        detect.read(folder)


@pytest.mark.parametrize("rows", [0, 1, 260])
def test_too_few_characters(folder: Path, rows: int) -> None:
    change_arrays(
        folder, lambda arrays: arrays.update({"lm/char_embed": np.zeros((rows, 3), np.float32)})
    )
    with pytest.raises(elmokit.FormatError, match=rf"found \(?{rows}"):
        detect.read(folder)


@pytest.mark.parametrize("rows", [263, 300])
def test_too_many_characters(folder: Path, rows: int) -> None:
    change_arrays(
        folder, lambda arrays: arrays.update({"lm/char_embed": np.ones((rows, 3), np.float32)})
    )
    with refuses(folder / INDEX, "lm/char_embed", str(rows)):
        detect.read(folder)


@pytest.mark.parametrize("shape", [(), (0, 4), (0,)])
def test_an_empty_embedding(tmp_path: Path, shape: tuple[int, ...]) -> None:
    folder = written(tmp_path / "model", WORDS)
    change_arrays(
        folder, lambda arrays: arrays.update({"lm/embedding": np.zeros(shape, np.float32)})
    )
    with refuses(folder / INDEX, "lm/embedding"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("option", "key"), [("lstm.n_layers", "cell_1"), ("char_cnn.n_highway", "")]
)
def test_layers_that_the_options_do_not_speak_of(folder: Path, option: str, key: str) -> None:
    change_json(folder / "options.json", setting(option, 1 if key else 0))
    if key:  # one layer has names of its own

        def change(arrays: Arrays) -> None:
            for name in list(arrays):
                if "cell_0" in name:
                    arrays[name.replace("multi_rnn_cell/cell_0/", "")] = arrays.pop(name)

        change_arrays(folder, change)
    with pytest.raises(elmokit.FormatError, match=r"(?i)cell_?1" if key else "CNN_high_0"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("lstm", "option missing (key 'lstm')"),
        ("lstm.dim", "option missing (key 'lstm.dim')"),
        ("char_cnn.filters", "option missing (key 'char_cnn.filters')"),
    ],
)
def test_missing_option(folder: Path, path: str, problem: str) -> None:
    change_json(folder / "options.json", without(path))
    with refuses(folder / "options.json", problem):
        detect.read(folder)


def test_options_of_a_word_model(folder: Path) -> None:
    change_json(folder / "options.json", without("char_cnn"))
    with refuses(folder / INDEX, "array missing (key 'lm/embedding')"):
        detect.read(folder)


@pytest.mark.parametrize("count", [8, 10])
def test_vocabulary_of_another_length(folder: Path, count: int) -> None:
    words = vocabulary(20).words[:count]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    with refuses(folder / "vocab.txt", "vocabulary and softmax", f"expected 9, found {count}"):
        detect.read(folder)
    assert detect.read(folder, softmax=False).config == BASE


def test_words_need_a_vocabulary(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", WORDS)
    (folder / "vocab.txt").unlink()
    with refuses(folder, "no vocabulary file", "vocabulary="):
        detect.read(folder)


def test_missing_files(folder: Path) -> None:
    (folder / DATA).unlink()
    with refuses(folder / DATA, "cannot be read: No such file", "(key 'lm/"):
        detect.read(folder)
    (folder / INDEX).unlink()
    with refuses(folder / INDEX, "no such file or folder"):
        detect.read(folder / INDEX)


def test_an_index_without_which_the_data_is_nothing(folder: Path) -> None:
    (folder / INDEX).unlink()
    with refuses(folder / INDEX, "cannot be read: No such file"):
        detect.read(folder / DATA)


@pytest.mark.parametrize("octets", [b"", b"<!DOCTYPE html>" * 9, b"PK\x03\x04" + bytes(99)])
def test_an_index_that_is_something_else(folder: Path, octets: bytes) -> None:
    (folder / INDEX).write_bytes(octets)
    with refuses(folder / INDEX, "is no checkpoint index"):
        detect.read(folder)


def test_truncated_data(folder: Path) -> None:
    octets = (folder / DATA).read_bytes()
    for cut in (0, 1, len(octets) // 2, len(octets) - 1):
        (folder / DATA).write_bytes(octets[:cut])
        with refuses(folder / DATA, "is cut short", f"found {cut} bytes"):
            detect.read(folder)


def test_a_flipped_bit_anywhere_in_the_data(folder: Path) -> None:
    octets = (folder / DATA).read_bytes()
    for position in range(0, len(octets), len(octets) // 40):
        changed = bytearray(octets)
        changed[position] ^= 0x10
        (folder / DATA).write_bytes(changed)
        with refuses(folder / DATA, "a tensor's checksum does not match (key 'lm/"):
            detect.read(folder)


# Writing; what cannot be expressed is in test_bilm_hdf5.py.


@pytest.mark.parametrize("word", [" the", "the\n", "\u3000"])
def test_words_that_cannot_be_written(word: str, tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6).words, word])
    with refuses_input("cannot be written", repr(word)):
        tf_checkpoint.write(replace(model(WORDS), vocabulary=words), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_overwriting(folder: Path) -> None:
    before = contents(folder.parent)
    with refuses_input(str(folder), "exists already"):
        tf_checkpoint.write(model(seed=1), folder)
    assert contents(folder.parent) == before
    tf_checkpoint.write(model(seed=1), folder, overwrite=True)
    assert_same(detect.read(folder), model(seed=1))


@pytest.mark.parametrize("step", ["write_bundle", "write_json", "write_vocabulary", "arrays_from"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_whole_or_not_there(
    step: str, overwrite: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(folder.parent)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(tf_checkpoint, step, fail)
    target = folder if overwrite else folder.with_name("new")
    with pytest.raises(OSError, match="disk full"):
        tf_checkpoint.write(expected(), target, overwrite=overwrite)
    assert contents(folder.parent) == before


def test_no_place_to_write(tmp_path: Path) -> None:
    with refuses_input(str(tmp_path / "absent"), "is not a folder; create it first"):
        tf_checkpoint.write(model(), tmp_path / "absent" / "model")
    assert list(tmp_path.iterdir()) == []


def test_262_rows_stay_262(tmp_path: Path) -> None:
    """Training counts from the first row; no checkpoint holds a padding row."""
    config = replace(BASE, characters=replace(CHARACTERS, alphabet_size=262))
    checkpoint = model(config)
    checkpoint.tensors["token_encoder.characters.embedding.weight"][0] = 0
    tf_checkpoint.write(checkpoint, tmp_path / "model")
    assert_same(detect.read(tmp_path / "model"), checkpoint)
