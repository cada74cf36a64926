"""bilm-tf's HDF5 models: the layouts they are found in, and what is refused and how."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

import elmokit
from elmokit.config import ModelConfig, WordConfig
from elmokit.formats import bilm_hdf5, detect
from elmokit.formats.checkpoint import Checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.formats.small_checkpoints import (
    BASE,
    CHARACTERS,
    MANY_LANGS,
    WORDS,
    Change,
    assert_same,
    assert_same_tensors,
    change_json,
    contents,
    model,
    refuses,
    refuses_input,
    setting,
    vocabulary,
    within,
    without,
)

Arrays = Callable[[Any], object]

CELL = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A character model, as bilm-tf's users keep it."""
    bilm_hdf5.write(model(), tmp_path / "model")
    return tmp_path / "model"


def written(folder: Path, config: ModelConfig) -> Checkpoint:
    checkpoint = model(config)
    bilm_hdf5.write(checkpoint, folder)
    return checkpoint


def change_arrays(file: Path, change: Arrays) -> None:
    with h5py.File(file, "r+") as opened:
        change(opened)


def array(name: str, values: Any, **arguments: Any) -> Arrays:
    """A change that puts ``values`` (or what they make of the old ones) under ``name``."""

    def change(opened: Any) -> None:
        new = values(opened[name][()]) if callable(values) else values
        del opened[name]
        opened.create_dataset(name, data=new, **arguments)

    return change


def layout_of(name: str, **arguments: Any) -> Arrays:
    """A change that makes the array ``name`` anew, with nothing in it."""

    def change(opened: Any) -> None:
        shape = opened[name].shape
        del opened[name]
        opened.create_dataset(name, **({"shape": shape, "dtype": "f4"} | arguments))

    return change


def move_arrays(source: Path, target: Path, *names: str) -> None:
    """Move arrays or groups to a file of their own."""
    with h5py.File(source, "r+") as old, h5py.File(target, "a") as new:
        for name in names:
            old.copy(name, new)
            del old[name]


def flatten_one_layer(opened: Any) -> None:
    for direction in ("RNN_0", "RNN_1"):
        opened.move(f"{direction}/RNN/MultiRNNCell/Cell0/LSTMCell", f"{direction}/RNN/LSTMCell")
        del opened[f"{direction}/RNN/MultiRNNCell"]


# Where the files lie and what they are called.


def test_files_written(folder: Path, tmp_path: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {"options.json", "weights.hdf5"}
    with h5py.File(folder / "weights.hdf5") as opened:
        names: list[str] = []
        opened.visit(names.append)
        assert opened["char_embed"].shape == (261, 3)
        assert opened["CNN/W_cnn_1"].shape == (1, 2, 3, 3)
        assert opened[f"{CELL}/W_0"].shape == (8, 24)
        assert opened[f"{CELL}/W_P_0"].shape == (6, 4)
        assert opened[f"{CELL}/W_0"].dtype == np.dtype("<f4")
    assert {"CNN_high_0/W_carry", "CNN_proj/b_proj", f"{CELL}/B"} <= set(names)
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    assert options["char_cnn"]["n_characters"] == 262
    assert options["lstm"] == {
        "use_skip_connections": True,
        "projection_dim": 4,
        "cell_clip": 3.0,
        "proj_clip": 3.0,
        "dim": 6,
        "n_layers": 2,
    }


def test_other_file_names(folder: Path) -> None:
    (folder / "options.json").rename(folder / "elmo_x_options.json")
    (folder / "weights.hdf5").rename(folder / "elmo_x_weights.hdf5")
    assert_same(detect.read(folder), model())
    assert_same(detect.read(folder / "elmo_x_weights.hdf5"), model())


def test_several_models_in_a_folder_are_told_apart_by_name(folder: Path, tmp_path: Path) -> None:
    bilm_hdf5.write(model(replace(BASE, layers=1)), tmp_path / "other")
    for name in ("options.json", "weights.hdf5"):
        (folder / name).rename(folder / f"elmo_x_{name}")
        (tmp_path / "other" / name).rename(folder / f"elmo_y_{name}")
    assert_same(detect.read(folder / "elmo_x_weights.hdf5"), model())
    assert_same(detect.read(folder / "elmo_y_weights.hdf5"), model(replace(BASE, layers=1)))
    with refuses(folder, "more than one weights file", "elmo_x_weights.hdf5, elmo_y_", "weights="):
        detect.read(folder)


def test_options_and_weights_in_different_folders(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    options = (folder / "options.json").rename(tmp_path / "elsewhere" / "settings.json")
    weights = folder / "weights.hdf5"
    assert_same(detect.read(weights, options=options), model())
    elmo = elmokit.load(options=options, weights=str(weights), device="cpu")
    assert elmo.config == BASE
    assert elmo.source_format == "bilm-hdf5"
    with refuses(folder, "no options file in this folder", "name it with options="):
        detect.read(weights)


def test_relative_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for source in ("weights.hdf5", "./weights.hdf5", ".", f"../{folder.name}/weights.hdf5"):
        assert_same(detect.read(Path(source)), model())


def test_odd_folder_names(folder: Path) -> None:
    odd = folder.rename(folder.with_name("[a]*? größe  .hdf5 "))
    assert_same(detect.read(odd), model())
    assert_same(detect.read(odd / "weights.hdf5"), model())


def test_a_name_that_is_no_utf8(folder: Path) -> None:
    """Beside the weights it harms nobody; among them it is named in the error."""
    (weights,) = folder.glob("*.hdf5")
    expected = detect.read(folder)
    space = h5py.h5s.create_simple((1,))
    with h5py.File(weights, "a") as file:
        h5py.h5d.create(file.id, b"odd\xff", h5py.h5t.NATIVE_FLOAT, space)
    assert detect.read(folder).tensors.keys() == expected.tensors.keys()
    with h5py.File(weights, "a") as file:
        h5py.h5d.create(file.id, b"CNN_\xff", h5py.h5t.NATIVE_FLOAT, space)
    with pytest.raises(elmokit.FormatError, match=r"CNN_\\\\xff"):
        detect.read(folder)


def test_unrelated_files_beside(folder: Path) -> None:
    with h5py.File(folder / "vectors.hdf5", "w") as opened:
        opened["0"] = np.zeros((3, 5, 8), np.float32)
        opened["sentence_to_index"] = "{}"
    (folder / "broken.hdf5").write_bytes(b"<html>")
    (folder / "empty.h5").write_bytes(b"")
    (folder / "folder.hdf5").mkdir()
    (folder / "notes.json").write_text("[]", encoding="utf-8")
    (folder / "vocab-of-something.txt").write_text("word\n", encoding="utf-8")
    assert_same(detect.read(folder), model())
    assert_same(detect.read(folder / "weights.hdf5"), model())


@pytest.mark.parametrize("source", ["model", "model/weights.hdf5"])
def test_softmax_in_a_file_of_its_own(source: str, tmp_path: Path) -> None:
    checkpoint = written(tmp_path / "model", replace(BASE, softmax_size=9))
    folder = tmp_path / "model"
    move_arrays(folder / "weights.hdf5", folder / "elmo_softmax.hdf5", "softmax")
    assert_same(detect.read(tmp_path / source), checkpoint)
    without_softmax = detect.read(tmp_path / source, softmax=False)
    assert without_softmax.config.softmax_size is None


def test_whose_softmax_is_it(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, replace(BASE, softmax_size=9))
    move_arrays(folder / "weights.hdf5", folder / "softmax.hdf5", "softmax")
    shutil.copy(folder / "weights.hdf5", folder / "second.hdf5")
    assert detect.read(folder / "weights.hdf5").config.softmax_size is None
    (folder / "second.hdf5").unlink()
    shutil.copy(folder / "softmax.hdf5", folder / "softmax2.hdf5")
    assert detect.read(folder).config.softmax_size is None


def test_shared_embedding_and_softmax(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    checkpoint = written(folder, replace(WORDS, softmax_size=7))
    change_arrays(folder / "weights.hdf5", lambda opened: opened.__delitem__("softmax/W"))
    with refuses(folder / "weights.hdf5", "array missing", "'softmax/W'"):
        detect.read(folder)
    change_json(folder / "options.json", setting("share_embedding_softmax", True))
    found = detect.read(folder)
    assert found.config == checkpoint.config
    words = checkpoint.tensors["token_encoder.words.weight"]
    assert torch.equal(found.tensors["softmax.weight"], words)
    assert torch.equal(found.tensors["softmax.bias"], checkpoint.tensors["softmax.bias"])


@pytest.mark.parametrize("config", [BASE, WORDS], ids=["characters", "words"])
@pytest.mark.parametrize("n_layers", [1, None])
def test_one_layer_without_the_level_of_many(
    config: ModelConfig, n_layers: int | None, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    checkpoint = written(folder, replace(config, layers=1))
    assert_same(detect.read(folder), checkpoint)
    change_arrays(folder / "weights.hdf5", flatten_one_layer)
    if n_layers is None:  # older trainings left it out
        change_json(folder / "options.json", without("lstm.n_layers"))
    assert_same(detect.read(folder), checkpoint)


def test_the_short_form_is_for_one_layer_alone(folder: Path) -> None:
    change_arrays(folder / "weights.hdf5", flatten_one_layer)
    with refuses(folder / "weights.hdf5", "array missing", f"'{CELL}/W_0'"):
        detect.read(folder)


# How many characters there are.


@pytest.mark.parametrize("declared", [261, 262, None])
def test_261_rows(folder: Path, declared: int | None) -> None:
    change = without("char_cnn.n_characters")
    if declared is not None:
        change = setting("char_cnn.n_characters", declared)
    change_json(folder / "options.json", change)
    assert_same(detect.read(folder), model())


@pytest.mark.parametrize("declared", [261, 262])
def test_262_rows_with_the_padding_row_in_front(folder: Path, declared: int) -> None:
    change_json(folder / "options.json", setting("char_cnn.n_characters", declared))
    change_arrays(
        folder / "weights.hdf5",
        array("char_embed", lambda old: np.concatenate([np.zeros((1, 3), np.float32), old])),
    )
    assert_same(detect.read(folder), model())


@pytest.mark.parametrize("declared", [261, 262])
@pytest.mark.parametrize("last", [0.0, 1.5])
def test_262_rows_of_which_the_last_is_never_used(folder: Path, declared: int, last: float) -> None:
    change_json(folder / "options.json", setting("char_cnn.n_characters", declared))
    unused = np.full((1, 3), last, np.float32)
    change_arrays(
        folder / "weights.hdf5", array("char_embed", lambda old: np.concatenate([old, unused]))
    )
    found = detect.read(folder)
    assert found.config == replace(BASE, characters=replace(CHARACTERS, alphabet_size=262))
    rows = found.tensors["token_encoder.characters.embedding.weight"]
    assert torch.equal(rows[:261], model().tensors["token_encoder.characters.embedding.weight"])
    sentences = [["the", "größe"], ["."]]
    vectors = elmokit.load(folder, device="cpu").embed(sentences, layers="all")
    bilm_hdf5.write(model(), folder.with_name("plain"))
    plain = elmokit.load(folder.with_name("plain"), device="cpu").embed(sentences, layers="all")
    for one, other in zip(vectors, plain, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("rows", [0, 1, 260, 263])
def test_other_numbers_of_characters(folder: Path, rows: int) -> None:
    values = np.ones((rows, 3), np.float32)
    change_arrays(folder / "weights.hdf5", array("char_embed", values))
    with refuses(
        folder / "weights.hdf5", "'char_embed'", f"expected 261 or 262 rows, found {rows}"
    ):
        detect.read(folder)


# Word models, and token embeddings dumped for a vocabulary.


def dump_tokens(folder: Path, name: str, size: int) -> Checkpoint:
    """Write token embeddings for ``size`` words, and give the model that reads them."""
    table = model(replace(WORDS, words=WordConfig(vocabulary_size=size, embedding_dim=4)), seed=7)
    rows = table.tensors["token_encoder.words.weight"]
    with h5py.File(folder / name, "w") as opened:
        opened["embedding"] = rows.numpy()
    lstms = {n: t for n, t in model().tensors.items() if not n.startswith("token_encoder.")}
    return replace(table, tensors={"token_encoder.words.weight": rows} | lstms)


@pytest.mark.parametrize("place", ["model", "elsewhere"])
def test_dumped_tokens_take_the_place_of_characters(
    folder: Path, place: str, tmp_path: Path
) -> None:
    (tmp_path / place).mkdir(exist_ok=True)
    expected = dump_tokens(tmp_path / place, "tokens.hdf5", 11)
    words = tmp_path / place / "words.txt"
    bilm_hdf5.write_vocabulary(words, vocabulary(11))
    tokens = tmp_path / place / "tokens.hdf5"
    for source in (folder, folder / "weights.hdf5"):
        found = detect.read(source, token_embedding=tokens, vocabulary=words)
        assert_same(found, expected)
    assert_same(detect.read(folder), model())
    elmo = elmokit.load(folder, token_embedding=str(tokens), vocabulary=str(words), device="cpu")
    assert elmo.config == expected.config


def test_dumped_tokens_beside_weights_without_characters(folder: Path) -> None:
    expected = dump_tokens(folder, "tokens.hdf5", 11)
    bilm_hdf5.write_vocabulary(folder / "vocab-small.txt", vocabulary(11))
    names = ["char_embed", "CNN", "CNN_proj", "CNN_high_0"]
    move_arrays(folder / "weights.hdf5", folder.parent / "characters.hdf5", *names)
    assert_same(detect.read(folder), expected)
    assert_same(detect.read(folder / "weights.hdf5"), expected)


def test_dumped_tokens_take_the_place_of_words(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, WORDS)
    dump_tokens(tmp_path, "tokens.hdf5", 11)
    bilm_hdf5.write_vocabulary(tmp_path / "words.txt", vocabulary(11))
    found = detect.read(
        folder, token_embedding=tmp_path / "tokens.hdf5", vocabulary=tmp_path / "words.txt"
    )
    assert found.config.words == WordConfig(vocabulary_size=11, embedding_dim=4)


def test_words_need_a_vocabulary(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    checkpoint = written(folder, WORDS)
    (folder / "vocab.txt").rename(tmp_path / "words.txt")
    with refuses(folder, "no vocabulary file", "vocabulary="):
        detect.read(folder)
    assert_same(detect.read(folder, vocabulary=tmp_path / "words.txt"), checkpoint)
    for name in ("vocab-a.txt", "vocab-b.txt"):
        shutil.copy(tmp_path / "words.txt", folder / name)
    with refuses(folder, "more than one vocabulary file: vocab-a.txt, vocab-b.txt", "vocabulary="):
        detect.read(folder)
    with refuses(folder / "nowhere.txt", "cannot be read (No such file"):
        detect.read(folder, vocabulary=folder / "nowhere.txt")


@pytest.mark.parametrize("count", [0, 3, 6, 8])
def test_vocabulary_of_another_length(count: int, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, WORDS)
    words = vocabulary(20).words[:count]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    found = f"expected 7, found {count} words" if count else "lacks a mark"
    with refuses(folder / "vocab.txt", "vocabulary", found):
        detect.read(folder)


def test_softmax_vocabulary_of_another_length(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, replace(BASE, softmax_size=9))
    bilm_hdf5.write_vocabulary(folder / "vocab.txt", vocabulary(8))
    with refuses(
        folder / "vocab.txt", "vocabulary and softmax differ", "expected 9, found 8 words"
    ):
        detect.read(folder)
    assert detect.read(folder, softmax=False).config == BASE


@pytest.mark.parametrize("mark", ["<S>", "</S>", "<UNK>"])
def test_vocabulary_without_a_mark(mark: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, WORDS)
    text = (folder / "vocab.txt").read_text(encoding="utf-8").replace(f"{mark}\n", "other\n", 1)
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    with refuses(folder / "vocab.txt", f"vocabulary lacks a mark: expected {mark}"):
        detect.read(folder)


def test_white_space_around_words_is_cut_off(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    checkpoint = written(folder, WORDS)
    text = (folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_bytes(text.replace("\n", " \r\n").encode())
    assert_same(detect.read(folder), checkpoint)
    (folder / "vocab.txt").write_bytes(text.removesuffix("\n").encode())
    assert_same(detect.read(folder), checkpoint)


def test_vocabulary_that_is_not_text(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, WORDS)
    (folder / "vocab.txt").write_bytes(b"<S>\n\xff\n")
    with refuses(folder / "vocab.txt", "is not UTF-8 text (byte 4)"):
        detect.read(folder)


# Arrays stored in other ways, and arrays that are wrong.


@pytest.mark.parametrize("kind", ["<f8", ">f4", ">f8"])
def test_other_floats(folder: Path, kind: str) -> None:
    change_arrays(folder / "weights.hdf5", array("char_embed", lambda old: old.astype(kind)))
    assert_same(detect.read(folder), model())


def test_half_precision(folder: Path) -> None:
    change_arrays(folder / "weights.hdf5", array("char_embed", lambda old: old.astype("<f2")))
    name = "token_encoder.characters.embedding.weight"
    expected = model().tensors[name].half().float()
    assert torch.equal(detect.read(folder).tensors[name], expected)


@pytest.mark.parametrize("arguments", [{"compression": "gzip"}, {"chunks": (29, 2)}])
def test_chunks_and_compression(folder: Path, arguments: dict[str, Any]) -> None:
    change_arrays(
        folder / "weights.hdf5", array("char_embed", lambda old: old, **arguments, shuffle=True)
    )
    assert_same(detect.read(folder), model())


NAMES = [
    "char_embed",
    "CNN/W_cnn_0",
    "CNN/b_cnn_1",
    "CNN_high_0/W_carry",
    "CNN_high_0/b_transform",
    "CNN_proj/W_proj",
    "CNN_proj/b_proj",
    f"{CELL}/W_0",
    f"{CELL}/B",
    "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0",
]


@pytest.mark.parametrize("name", NAMES)
def test_missing_array(folder: Path, name: str) -> None:
    change_arrays(folder / "weights.hdf5", lambda opened: opened.__delitem__(name))
    with refuses(folder / "weights.hdf5", f"array missing (key {name!r})"):
        detect.read(folder)


@pytest.mark.parametrize("name", NAMES)
def test_array_of_another_shape(folder: Path, name: str) -> None:
    file = folder / "weights.hdf5"
    with h5py.File(file) as opened:
        shape = opened[name].shape
    changed = (shape[0], *shape[1:-1], shape[-1] + 1)
    change_arrays(file, array(name, np.zeros(changed, np.float32)))
    with refuses(
        file, "wrong shape", f"(key {name!r})", f"expected {shape} by the options, found {changed}"
    ):
        detect.read(folder)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(folder: Path, name: str, value: float) -> None:
    def put(old: Any) -> Any:
        old.flat[-1] = value
        return old

    change_arrays(folder / "weights.hdf5", array(name, put))
    with refuses(folder / "weights.hdf5", "NaN or infinity", "(key '"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (np.zeros((261, 3), np.int32), "int32"),
        (np.zeros((261, 3), bool), "bool"),
        (np.zeros((261, 3), np.complex64), "complex64"),
        (np.full((261, 3), b"text"), "|S4"),
        (np.full((261, 3), "größe", h5py.string_dtype()), "object"),
        (np.zeros((261, 3), [("real", "f4")]), "real"),
    ],
)
def test_arrays_that_are_not_floats(folder: Path, values: Any, found: str) -> None:
    change_arrays(folder / "weights.hdf5", array("char_embed", values))
    with refuses(
        folder / "weights.hdf5",
        "wrong number type",
        "(key 'char_embed')",
        "expected floating point, found",
        found,
    ):
        detect.read(folder)


@pytest.mark.parametrize("name", ["char_embed", "CNN/b_cnn_0", f"{CELL}/B"])
def test_a_group_in_place_of_an_array(folder: Path, name: str) -> None:
    def change(opened: Any) -> None:
        del opened[name]
        opened.create_group(name)

    change_arrays(folder / "weights.hdf5", change)
    with refuses(folder / "weights.hdf5", "wrong content", f"(key {name!r})", "expected an array"):
        detect.read(folder)


def test_an_array_in_place_of_a_group(folder: Path) -> None:
    def change(opened: Any) -> None:
        del opened["CNN"]
        opened["CNN"] = np.zeros(3, np.float32)

    change_arrays(folder / "weights.hdf5", change)
    with refuses(folder / "weights.hdf5", "(key 'CNN"):
        detect.read(folder)


def test_a_scalar_and_a_null_array(folder: Path) -> None:
    for value in (np.float32(1), h5py.Empty("f4")):
        change_arrays(folder / "weights.hdf5", array("char_embed", value))
        with refuses(folder / "weights.hdf5"):
            detect.read(folder)


def test_an_array_that_was_never_written(folder: Path) -> None:
    change_arrays(folder / "weights.hdf5", layout_of("char_embed"))
    with refuses(folder / "weights.hdf5", "not fully stored (key 'char_embed')"):
        detect.read(folder)


@pytest.mark.parametrize("arguments", [{}, {"compression": "gzip"}, {"fillvalue": 1.0}])
def test_chunks_that_were_never_written(folder: Path, arguments: dict[str, Any]) -> None:
    change_arrays(folder / "weights.hdf5", layout_of("char_embed", chunks=(29, 3), **arguments))
    with refuses(folder / "weights.hdf5", "not fully stored (key 'char_embed')"):
        detect.read(folder)


@pytest.mark.parametrize("target", ["here", "elsewhere.hdf5", "nowhere.hdf5", "/etc/passwd"])
@pytest.mark.parametrize("name", ["char_embed", "CNN", "CNN/W_cnn_0", "RNN_1", f"{CELL}/B"])
def test_links_are_not_followed(folder: Path, name: str, target: str) -> None:
    shutil.copy(folder / "weights.hdf5", folder / "elsewhere.hdf5")

    def change(opened: Any) -> None:
        opened.move(name, "moved")
        here = target == "here"
        opened[name] = h5py.SoftLink("/moved") if here else h5py.ExternalLink(target, f"/{name}")

    change_arrays(folder / "weights.hdf5", change)
    with refuses(folder / "weights.hdf5", "array is a link to somewhere else", name):
        detect.read(folder / "weights.hdf5")


def test_links_that_lead_nowhere_and_in_circles(folder: Path) -> None:
    for target in ("/nowhere", "/char_embed", "/CNN/W_cnn_0/below"):
        change_arrays(folder / "weights.hdf5", lambda opened: opened.__delitem__("char_embed"))

        def change(opened: Any, target: str = target) -> None:
            opened["char_embed"] = h5py.SoftLink(target)

        change_arrays(folder / "weights.hdf5", change)
        with refuses(folder / "weights.hdf5", "char_embed"):
            detect.read(folder)


READING = """
import sys
from pathlib import Path
from elmokit.errors import FormatError
from elmokit.formats import detect
try:
    detect.read(Path(sys.argv[1]))
except FormatError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["RNN_0", "RNN_1"])
def test_a_link_is_refused_before_its_target_is_opened(folder: Path, name: str) -> None:
    """A pipe tells who opens it: only then can its other end be opened without waiting."""
    pipe, file = folder / "pipe", folder / "weights.hdf5"
    os.mkfifo(pipe)

    def change(opened: Any) -> None:
        del opened[name]
        opened[name] = h5py.ExternalLink("pipe", "/x")

    change_arrays(file, change)
    command = [sys.executable, "-c", READING, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        target_was_opened = False
        while process.poll() is None:
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                target_was_opened = True
            except OSError:
                time.sleep(0.02)
        assert process.communicate()[0].startswith(f"{file}: array is a link to somewhere else")
    assert not target_was_opened


def test_arrays_stored_in_other_files(folder: Path) -> None:
    (folder / "raw.bin").write_bytes(bytes(261 * 3 * 4))
    external = [(str(folder / "raw.bin"), 0, 261 * 3 * 4)]
    change_arrays(folder / "weights.hdf5", layout_of("char_embed", external=external))
    with refuses(folder / "weights.hdf5", "stored in another file (key 'char_embed')"):
        detect.read(folder)


@pytest.mark.parametrize("place", ["elsewhere.hdf5", "."])
def test_virtual_arrays(folder: Path, place: str) -> None:
    shutil.copy(folder / "weights.hdf5", folder / "elsewhere.hdf5")

    def change(opened: Any) -> None:
        opened.move("char_embed", "moved")
        layout = h5py.VirtualLayout(shape=(261, 3), dtype="f4")
        name = "moved" if place == "." else "char_embed"
        layout[:] = h5py.VirtualSource(place, name, shape=(261, 3))
        opened.create_virtual_dataset("char_embed", layout)

    change_arrays(folder / "weights.hdf5", change)
    with refuses(folder / "weights.hdf5", "stored in another file (key 'char_embed')"):
        detect.read(folder / "weights.hdf5")


@pytest.mark.parametrize("name", ["W", "b"])
def test_softmax_of_another_shape(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, replace(BASE, softmax_size=9))
    values = np.zeros((10, 4) if name == "W" else (9, 1), np.float32)
    change_arrays(folder / "weights.hdf5", array(f"softmax/{name}", values))
    with refuses(folder / "weights.hdf5", "wrong shape", f"'softmax/{name}'", "(9"):
        detect.read(folder)


@pytest.mark.parametrize("values", [np.zeros((0, 4), np.float32), np.float32(0)])
def test_an_empty_embedding(values: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, WORDS)
    change_arrays(folder / "weights.hdf5", array("embedding", values))
    with refuses(folder / "weights.hdf5", "array is empty (key 'embedding'): found ("):
        detect.read(folder)


def test_unrelated_arrays_are_passed_over(folder: Path) -> None:
    def change(opened: Any) -> None:
        opened["training/steps"] = 5
        opened["note"] = "text"
        opened.attrs["by"] = "somebody"

    change_arrays(folder / "weights.hdf5", change)
    assert_same(detect.read(folder), model())


@pytest.mark.parametrize(
    ("option", "value", "key"),
    [
        ("lstm.n_layers", 1, "Cell1"),
        ("char_cnn.n_highway", 0, "CNN_high_0"),
    ],
)
def test_layers_that_the_options_do_not_speak_of(
    folder: Path, option: str, value: object, key: str
) -> None:
    change_json(folder / "options.json", setting(option, value))
    with refuses(folder / "weights.hdf5", key):
        detect.read(folder)


def test_doubles_beyond_float32(folder: Path) -> None:
    change_arrays(
        folder / "weights.hdf5", array("char_embed", lambda old: old.astype(np.float64) * 1e300)
    )
    with refuses(folder / "weights.hdf5", "NaN or infinity", "embedding.weight"):
        detect.read(folder)


# Files that are something else.


@pytest.mark.parametrize(
    "octets",
    [b"", b"<!DOCTYPE html><html>", b"version https://git-lfs.github.com/spec/v1\n", b"PK\x03\x04"],
)
@pytest.mark.parametrize("suffix", ["hdf5", "h5"])
def test_not_hdf5(folder: Path, octets: bytes, suffix: str) -> None:
    weights = (folder / "weights.hdf5").rename(folder / f"weights.{suffix}")
    weights.write_bytes(octets)
    with refuses(weights, "not HDF5"):
        detect.read(weights)


@pytest.mark.parametrize(
    ("octets", "hint"),
    [
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"", "empty file"),
    ],
)
def test_not_hdf5_but_something_well_known(folder: Path, octets: bytes, hint: str) -> None:
    (folder / "weights.hdf5").write_bytes(octets)
    with refuses(folder / "weights.hdf5", hint):
        detect.read(folder)


def test_a_broken_weights_file_is_named_where_it_is_the_only_one(folder: Path) -> None:
    (folder / "weights.hdf5").write_bytes(b"broken")
    with refuses(folder / "weights.hdf5", "not HDF5"):
        detect.read(folder)


@pytest.mark.parametrize("names", [["weights.h5"], ["weights.hdf5", "softmax.hdf5"]])
def test_a_broken_weights_file_is_named_in_any_folder(folder: Path, names: list[str]) -> None:
    weights = (folder / "weights.hdf5").rename(folder / names[0])
    weights.write_bytes(b"broken")
    for name in names[1:]:
        with h5py.File(folder / name, "w") as opened:
            opened["softmax/b"] = np.zeros(3, np.float32)
    with refuses(weights, "not HDF5"):
        detect.read(folder)


def test_an_hdf5_file_of_something_else(folder: Path) -> None:
    with h5py.File(folder / "weights.hdf5", "w") as opened:
        opened["0"] = np.zeros(3, np.float32)
    with refuses(folder / "weights.hdf5", "array missing (key 'RNN_0')", "no biLM"):
        detect.read(folder / "weights.hdf5")
    with refuses(folder, "no weights file", "weights="):
        detect.read(folder)


@pytest.mark.parametrize("cut", [0, 1, 8, 100, 1000, -1, -100])
def test_truncated_weights(folder: Path, cut: int) -> None:
    octets = (folder / "weights.hdf5").read_bytes()
    (folder / "weights.hdf5").write_bytes(octets[:cut])
    with refuses(folder / "weights.hdf5", "not HDF5"):
        detect.read(folder)


def test_missing_files(folder: Path) -> None:
    missing = folder / "absent.hdf5"
    with refuses(missing, "no such file"):
        detect.read(missing)
    with refuses(missing, "no such file"):
        detect.read(folder, token_embedding=missing)
    with refuses(folder / "absent.json", "cannot be read (No such file"):
        detect.read(folder, options=folder / "absent.json")
    (folder / "options.json").unlink()
    with refuses(folder, "no options file in this folder", "options="):
        detect.read(folder)
    for name in ("a_options.json", "b_options.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    with refuses(folder, "more than one options file: a_options.json, b_options.json", "options="):
        detect.read(folder)


def test_neither_characters_nor_words(folder: Path) -> None:
    change_arrays(folder / "weights.hdf5", lambda opened: opened.__delitem__("char_embed"))
    with refuses(folder / "weights.hdf5", "array missing (key 'char_embed')"):
        detect.read(folder)
    change_json(folder / "options.json", without("char_cnn"))
    with refuses(folder / "weights.hdf5", "array missing (key 'embedding')"):
        detect.read(folder)


# Options.


@pytest.mark.parametrize(
    "path",
    [
        "lstm",
        "lstm.dim",
        "lstm.projection_dim",
        "char_cnn",
        "char_cnn.embedding",
        "char_cnn.embedding.dim",
        "char_cnn.filters",
    ],
)
def test_missing_option(folder: Path, path: str) -> None:
    change_json(folder / "options.json", without(path))
    with refuses(
        folder / "options.json", "option missing (key '", path.rsplit(".", maxsplit=1)[-1]
    ):
        detect.read(folder)


def test_options_that_have_a_usual_value(folder: Path) -> None:
    change_json(folder / "options.json", without("char_cnn.activation"))
    change_json(folder / "options.json", without("char_cnn.n_characters"))
    change_json(folder / "options.json", without("elmokit"))
    found = detect.read(folder)
    assert found.config == BASE
    assert found.metadata == {}


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("lstm", 5, "5"),
        ("lstm", [], "[]"),
        ("lstm.dim", "6", "'6'"),
        ("lstm.dim", 0, "0"),
        ("lstm.dim", -6, "-6"),
        ("lstm.dim", 6.0, "6.0"),
        ("lstm.dim", True, "True"),
        ("lstm.dim", None, "None"),
        ("lstm.dim", 3, "expected at most lstm.dim (3), found 4"),
        ("lstm.projection_dim", [4], "[4]"),
        ("lstm.n_layers", 0, "0"),
        ("lstm.n_layers", "2", "'2'"),
        ("lstm.cell_clip", "3", "'3'"),
        ("lstm.cell_clip", -1, "-1"),
        ("lstm.cell_clip", True, "True"),
        ("lstm.proj_clip", {"a": 1}, "{'a': 1}"),
        ("char_cnn", None, "None"),
        ("char_cnn.filters", 5, "5"),
        ("char_cnn.filters", [], "none"),
        ("char_cnn.filters", [[1]], "[1]"),
        ("char_cnn.filters", [[1, 2, 3]], "[1, 2, 3]"),
        ("char_cnn.filters", [[1, 0]], "[1, 0]"),
        ("char_cnn.filters", [[9, 2]], "[9, 2]"),
        ("char_cnn.filters", [["1", 2]], "'1'"),
        ("char_cnn.embedding", 3, "3"),
        ("char_cnn.embedding.dim", "3", "'3'"),
        ("char_cnn.activation", "gelu", "'gelu'"),
        ("char_cnn.activation", None, "None"),
        ("char_cnn.n_highway", -1, "-1"),
        ("char_cnn.n_highway", "1", "'1'"),
        ("char_cnn.max_characters_per_token", 2, "2"),
        ("char_cnn.max_characters_per_token", None, "None"),
        ("char_cnn.n_characters", 260, "260"),
        ("char_cnn.n_characters", "many", "many"),
        ("char_cnn.n_characters", [261], "[261]"),
        ("elmokit", [], "[]"),
        ("elmokit.tokeniser", 5, "5"),
    ],
)
def test_wrong_option(folder: Path, path: str, value: object, found: str) -> None:
    change_json(folder / "options.json", setting(path, value))
    with refuses(folder / "options.json", found):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("lstm.dim", "6"),
        ("lstm.projection_dim", "4"),
        ("lstm.n_layers", "2"),
        ("lstm.cell_clip", "3"),
        ("char_cnn.filters", 5),
        ("char_cnn.activation", "gelu"),
        ("char_cnn.n_characters", 5),
        ("lstm.proj_clip", "3"),
        ("char_cnn.n_highway", "1"),
        ("char_cnn.max_characters_per_token", 2),
        ("char_cnn.embedding.dim", "3"),
    ],
)
def test_a_wrong_option_is_named_as_the_file_names_it(
    folder: Path, path: str, value: object
) -> None:
    change_json(folder / "options.json", setting(path, value))
    with refuses(folder / "options.json", path):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("lstm.use_skip_connections", "false", "'false'"),
        ("lstm.use_skip_connections", 2, "2"),
        ("lstm.cell_clip", "", "''"),
        ("lstm.cell_clip", [], "[]"),
        ("lstm.proj_clip", False, "False"),
        ("char_cnn.n_highway", False, "False"),
        ("char_cnn.n_highway", "", "''"),
    ],
)
def test_option_of_another_type(folder: Path, path: str, value: object, found: str) -> None:
    change_arrays(
        folder / "weights.hdf5",
        lambda opened: opened.__delitem__("CNN_high_0") if "highway" in path else None,
    )
    change_json(folder / "options.json", setting(path, value))
    with refuses(folder / "options.json", found):
        detect.read(folder)


def test_a_number_beyond_all_bounds(folder: Path) -> None:
    change_json(folder / "options.json", setting("lstm.cell_clip", 10**400))
    with refuses(folder / "options.json", "cell_clip"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("lstm.dim", 7, "W_0"),
        ("lstm.projection_dim", 3, "CNN_proj/W_proj"),
        ("lstm.n_layers", 3, "RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/W_0"),
        ("char_cnn.embedding.dim", 4, "char_embed"),
        ("char_cnn.filters", [[1, 2]], "CNN"),
        ("char_cnn.filters", [[1, 2], [3, 3]], "CNN/W_cnn_1"),
        ("char_cnn.n_highway", 2, "CNN_high_1/W_carry"),
    ],
)
def test_options_of_another_model(folder: Path, path: str, value: object, key: str) -> None:
    change_json(folder / "options.json", setting(path, value))
    with refuses(folder / "weights.hdf5", key):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "key"),
    [("lstm.n_layers", r"layers|Cell2"), ("char_cnn.n_highway", r"highway|CNN_high_1")],
)
def test_more_layers_than_anyone_can_count(folder: Path, path: str, key: str) -> None:
    change_json(folder / "options.json", setting(path, 10**9))
    with within(5), pytest.raises(elmokit.FormatError, match=key):
        detect.read(folder)


def test_an_unknown_tokeniser(folder: Path) -> None:
    change_json(folder / "options.json", setting("elmokit.tokeniser", "sentencepiece"))
    with refuses(folder / "options.json", "unknown tokeniser 'sentencepiece'", "words"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("[]", "expected an object, found list"),
        ("null", "expected an object, found NoneType"),
        ("<html>", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"lstm": ' + "9" * 5000 + "}", "is not valid JSON"),
    ],
)
def test_options_that_are_no_json_object(folder: Path, text: str, problem: str) -> None:
    (folder / "options.json").write_text(text, encoding="utf-8")
    with refuses(folder / "options.json", problem):
        detect.read(folder)


def test_options_that_are_not_text(folder: Path) -> None:
    (folder / "options.json").write_bytes(b'{"lstm": "\xff"}')
    with refuses(folder / "options.json", "is not UTF-8 text (byte 10)"):
        detect.read(folder)


@pytest.mark.parametrize("metadata", [5, [], "text"])
def test_metadata_that_is_no_object(folder: Path, metadata: object) -> None:
    change_json(folder / "options.json", setting("elmokit.metadata", metadata))
    with refuses(folder / "options.json", "(key 'elmokit.metadata'): expected an object"):
        detect.read(folder)


# Writing.

DICTIONARY = replace(CHARACTERS, alphabet="dictionary", alphabet_size=10)
UNWRITABLE = {
    "characters and words together": replace(
        MANY_LANGS, marks=BASE.marks, forget_bias=1.0, characters=CHARACTERS
    ),
    "a character dictionary": replace(BASE, characters=DICTIONARY),
    "words cut before look-up": replace(
        WORDS, words=WordConfig(vocabulary_size=7, embedding_dim=4, longest_word=5)
    ),
    "marks of its own": replace(BASE, marks=MANY_LANGS.marks),
    "forget_bias 0.5": replace(BASE, forget_bias=0.5),
    "token_projection over words": replace(WORDS, token_projection=True),
    "token_projection between equal sizes": replace(BASE, projection_dim=5),
    "lstm_projection between equal sizes": replace(BASE, lstm_dim=4),
}


@pytest.mark.parametrize(("obstacle", "config"), UNWRITABLE.items(), ids=UNWRITABLE)
@pytest.mark.parametrize("form", ["bilm-hdf5", "tf-checkpoint"])
def test_what_cannot_be_written(
    obstacle: str, config: ModelConfig, form: str, tmp_path: Path
) -> None:
    for name in ("folder", "single.hdf5"):
        with refuses_input(f"the {form} format cannot express", obstacle):
            detect.write(model(config), tmp_path / name, form=form)
    assert list(tmp_path.iterdir()) == []


def test_an_alphabet_that_cannot_be_read_back(tmp_path: Path) -> None:
    config = replace(BASE, characters=replace(CHARACTERS, alphabet_size=300))
    with refuses_input("the bilm-hdf5 format cannot express"):
        bilm_hdf5.write(model(config), tmp_path / "model")


def test_a_zero_row_in_front_is_not_taken_for_padding_of_ours(tmp_path: Path) -> None:
    checkpoint = model(replace(BASE, characters=replace(CHARACTERS, alphabet_size=262)))
    checkpoint.tensors["token_encoder.characters.embedding.weight"][0] = 0
    try:
        bilm_hdf5.write(checkpoint, tmp_path / "model")
    except elmokit.InputError:
        return  # as good
    found = detect.read(tmp_path / "model").tensors["token_encoder.characters.embedding.weight"]
    expected = checkpoint.tensors["token_encoder.characters.embedding.weight"]
    assert torch.equal(found[:261], expected[:261])


@pytest.mark.parametrize("word", [" the", "the ", "\tthe", "the\n", "a\nb", "\u3000", "\x85"])
@pytest.mark.parametrize("name", ["folder", "single.hdf5"])
def test_words_that_cannot_be_written(word: str, name: str, tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6).words, word])
    with refuses_input("cannot be written", repr(word)):
        bilm_hdf5.write(replace(model(WORDS), vocabulary=words), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_readers_pass_over(tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6).words, "!!!MAXTERMID"])
    with refuses_input("cannot be written", "'!!!MAXTERMID'"):
        bilm_hdf5.write(replace(model(WORDS), vocabulary=words), tmp_path / "model")


def test_a_line_that_is_no_word(tmp_path: Path) -> None:
    """The published vocabulary of the 1 Billion Word Benchmark has it."""
    folder = tmp_path / "model"
    checkpoint = written(folder, WORDS)
    with (folder / "vocab.txt").open("a", encoding="utf-8") as stream:
        stream.write("!!!MAXTERMID\n")
    assert_same(detect.read(folder), checkpoint)


def test_a_word_without_bytes(tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6).words, "\ud800"])
    with refuses_input("cannot be written", repr("\ud800")):
        bilm_hdf5.write(replace(model(WORDS), vocabulary=words), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_single_file_replaces_nothing_unasked(tmp_path: Path) -> None:
    for name in ("model.hdf5", "options.json", "vocab.txt"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
        before = contents(tmp_path)
        with refuses_input(str(tmp_path / name), "exists already"):
            bilm_hdf5.write(model(WORDS), tmp_path / "model.hdf5")
        assert contents(tmp_path) == before
        (tmp_path / name).unlink()
    for name in ("model.hdf5", "options.json", "vocab.txt"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    bilm_hdf5.write(model(WORDS), tmp_path / "model.hdf5", overwrite=True)
    assert_same(detect.read(tmp_path / "model.hdf5"), model(WORDS))
    assert len(list(tmp_path.iterdir())) == 3


def test_a_vocabulary_of_another_model_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("mine", encoding="utf-8")
    bilm_hdf5.write(model(), tmp_path / "model.hdf5")
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8") == "mine"
    assert_same_tensors(detect.read(tmp_path / "model.hdf5"), model())


STEPS = ["arrays_from", "write_vocabulary", "options_from_config", "write_json"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_is_whole_or_not_there(
    step: str, overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overwrite:
        written(tmp_path / "model", BASE)
    before = contents(tmp_path)
    monkeypatch.setattr(bilm_hdf5, step, fail)
    with pytest.raises(OSError, match="disk full"):
        bilm_hdf5.write(model(WORDS), tmp_path / "model", overwrite=overwrite)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_single_file_and_its_companions_are_whole_or_not_there(
    step: str, overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overwrite:
        for name in ("model.hdf5", "options.json", "vocab.txt"):
            (tmp_path / name).write_text("old", encoding="utf-8")
    before = contents(tmp_path)
    monkeypatch.setattr(bilm_hdf5, step, fail)
    with pytest.raises(OSError, match="disk full"):
        bilm_hdf5.write(model(WORDS), tmp_path / "model.hdf5", overwrite=overwrite)
    assert contents(tmp_path) == before


def fail(*_: object, **__: object) -> None:
    raise OSError("disk full")


def test_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for parent in ("absent", "file"):
        for name in ("folder", "single.hdf5"):
            with refuses_input(str(tmp_path / parent), "is not a folder; create it first"):
                bilm_hdf5.write(model(), tmp_path / parent / name)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def changes_of_options() -> list[Change]:
    return [
        setting("lstm.cell_clip", 0),
        setting("lstm.cell_clip", None),
        without("lstm.cell_clip"),
    ]


@pytest.mark.parametrize("number", range(3))
def test_no_clipping_is_written_in_many_ways(folder: Path, number: int) -> None:
    change_json(folder / "options.json", changes_of_options()[number])
    assert detect.read(folder).config == replace(BASE, cell_clip=None)
