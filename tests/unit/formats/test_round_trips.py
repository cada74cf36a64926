"""From one format to another and back: not a bit may change."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

import elmokit
from elmokit.config import CharacterConfig, Marks, ModelConfig, WordConfig
from elmokit.formats import bilm_hdf5, detect, many_langs, native, tf_checkpoint
from elmokit.formats.checkpoint import Checkpoint, start_state_tensors
from elmokit.text.vocabulary import Vocabulary
from unit.formats.small_checkpoints import (
    BASE,
    BILM_CONFIGS,
    MANY_LANGS,
    MANY_LANGS_CONFIGS,
    WORDS,
    assert_same,
    assert_same_tensors,
    bits,
    model,
)

few_examples = settings(max_examples=40, deadline=None, derandomize=True)


def there_and_back(checkpoint: Checkpoint, folder: Path, form: str, name: str) -> Checkpoint:
    """Native on disk, then ``form`` on disk, then native again, each time read anew."""
    native.write(checkpoint, folder / "native")
    detect.write(detect.read(folder / "native"), folder / name, form=form)
    foreign = detect.read(folder / name)
    assert foreign.source_format == form
    native.write(foreign, folder / "again")
    return detect.read(folder / "again")


@pytest.mark.parametrize("config", BILM_CONFIGS.values(), ids=BILM_CONFIGS)
@pytest.mark.parametrize(
    ("form", "name"),
    [
        (native.NAME, "copy"),
        (bilm_hdf5.NAME, "folder"),
        (bilm_hdf5.NAME, "single.hdf5"),
        (bilm_hdf5.NAME, "single.h5"),
        (tf_checkpoint.NAME, "checkpoint"),
    ],
)
def test_bilm_models(config: ModelConfig, form: str, name: str, tmp_path: Path) -> None:
    checkpoint = model(config)
    again = there_and_back(checkpoint, tmp_path, form, name)
    assert_same(again, checkpoint)
    assert again.metadata == checkpoint.metadata


@pytest.mark.parametrize("config", MANY_LANGS_CONFIGS.values(), ids=MANY_LANGS_CONFIGS)
@pytest.mark.parametrize("form", [native.NAME, many_langs.NAME])
def test_many_langs_models(config: ModelConfig, form: str, tmp_path: Path) -> None:
    checkpoint = model(config)
    assert_same(there_and_back(checkpoint, tmp_path, form, "foreign"), checkpoint)


def test_every_special_value_of_a_float_that_a_model_can_hold(tmp_path: Path) -> None:
    checkpoint = model(BASE)
    smallest, largest = np.float32(1e-45), float(np.finfo(np.float32).max)
    special = torch.tensor([0.0, -0.0, float(smallest), -float(smallest), largest, -largest])
    for tensor in checkpoint.tensors.values():
        values = special.repeat(-(-tensor.numel() // len(special)))[: tensor.numel()]
        tensor.copy_(values.view(tensor.shape))
    for form in (native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME):
        folder = tmp_path / form
        folder.mkdir()
        assert_same(there_and_back(checkpoint, folder, form, "foreign"), checkpoint)


def test_special_values_through_many_langs(tmp_path: Path) -> None:
    checkpoint = model(MANY_LANGS)
    for tensor in checkpoint.tensors.values():
        tensor.view(-1)[::2] = 0.0
        tensor.view(-1)[1::3] = -0.0
    assert_same(there_and_back(checkpoint, tmp_path, many_langs.NAME, "foreign"), checkpoint)


def test_a_chain_through_every_bilm_format(tmp_path: Path) -> None:
    checkpoint = model(replace(WORDS, softmax_size=7))
    path = tmp_path / "0"
    native.write(checkpoint, path)
    chain = [bilm_hdf5.NAME, tf_checkpoint.NAME, native.NAME, tf_checkpoint.NAME, bilm_hdf5.NAME]
    for number, form in enumerate(chain, start=1):
        read = detect.read(path)
        path = tmp_path / str(number)
        detect.write(read, path, form=form)
    assert_same(detect.read(path), checkpoint)


@pytest.mark.parametrize("form", [native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME])
def test_writing_the_same_model_twice_gives_the_same_bytes(form: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        detect.write(model(replace(WORDS, softmax_size=7)), tmp_path / name, form=form)
    first, second = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert first == second


@pytest.mark.parametrize("form", [native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME])
@pytest.mark.parametrize("config", [replace(BASE, softmax_size=9), replace(WORDS, softmax_size=7)])
def test_the_softmax_can_be_left_unread(config: ModelConfig, form: str, tmp_path: Path) -> None:
    detect.write(model(config), tmp_path / "model", form=form)
    found = detect.read(tmp_path / "model", softmax=False)
    assert found.config == replace(config, softmax_size=None)
    assert not any(name.startswith("softmax.") for name in found.tensors)
    for name, tensor in found.tensors.items():
        assert torch.equal(bits(tensor), bits(model(config).tensors[name]))


def test_tensors_that_are_views_of_others_are_written_whole(tmp_path: Path) -> None:
    plain = model(BASE)
    big = {name: torch.stack([t, t + 1], dim=-1) for name, t in plain.tensors.items()}
    views = replace(plain, tensors={name: tensor[..., 0] for name, tensor in big.items()})
    for form in (native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME):
        detect.write(views, tmp_path / form, form=form)
        assert_same(detect.read(tmp_path / form), plain)


# A stored start state.


@pytest.mark.parametrize(
    "config",
    [BASE, WORDS, MANY_LANGS, BILM_CONFIGS["no lstm projection"], BILM_CONFIGS["one layer"]],
)
def test_the_start_state_survives(config: ModelConfig, tmp_path: Path) -> None:
    native.write(model(config), tmp_path / "plain")
    elmo = elmokit.load(tmp_path / "plain", device="cpu")
    sentences = [["the", "字", "of", "."], ["."]]
    vectors = elmo.embed(sentences, layers="all")
    elmo.save(tmp_path / "saved")
    stored = detect.read(tmp_path / "saved")
    assert stored.tensors.keys() - detect.read(tmp_path / "plain").tensors.keys() == (
        start_state_tensors(config).keys()
    )
    assert any(stored.tensors[name].any() for name in start_state_tensors(config))
    again = elmokit.load(tmp_path / "saved", device="cpu")
    for mine, theirs in zip(elmo.warm_state, again.warm_state, strict=True):
        for part, other in zip(mine, theirs, strict=True):
            assert torch.equal(bits(part), bits(other))
    for before, after in zip(vectors, again.embed(sentences, layers="all"), strict=True):
        assert np.abs(before - after).max() < 1e-6  # words meet in other products, rounded so
    again.save(tmp_path / "twice")
    assert_same(detect.read(tmp_path / "twice"), stored)


def test_a_stored_start_state_is_used_and_not_computed_anew(tmp_path: Path) -> None:
    elmo = elmokit.load(_native(model(BASE), tmp_path / "plain"), device="cpu")
    elmo.save(tmp_path / "saved")
    stored = detect.read(tmp_path / "saved")
    changed = {
        name: torch.full_like(tensor, 0.5) if name.startswith("start_state.") else tensor
        for name, tensor in stored.tensors.items()
    }
    native.write(replace(stored, tensors=changed), tmp_path / "changed")
    state = elmokit.load(tmp_path / "changed", device="cpu").warm_state
    assert all(bool((part == 0.5).all()) for direction in state for part in direction)


@pytest.mark.parametrize("form", [bilm_hdf5.NAME, tf_checkpoint.NAME])
def test_foreign_formats_leave_the_start_state_out(form: str, tmp_path: Path) -> None:
    elmokit.load(_native(model(BASE), tmp_path / "plain"), device="cpu").save(tmp_path / "saved")
    detect.write(detect.read(tmp_path / "saved"), tmp_path / "foreign", form=form)
    assert_same(detect.read(tmp_path / "foreign"), model(BASE))


def _native(checkpoint: Checkpoint, folder: Path) -> Path:
    native.write(checkpoint, folder)
    return folder


# Any small config.

words = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda word: "\n" not in word)
sizes = st.integers(1, 5)
clips = st.none() | st.floats(0.125, 100, width=32)
activations: st.SearchStrategy[Literal["relu", "tanh"]] = st.sampled_from(["relu", "tanh"])


@st.composite
def character_configs(
    draw: st.DrawFn, alphabet: Literal["bytes", "dictionary"] = "bytes"
) -> CharacterConfig:
    most = draw(st.integers(3, 60))
    widths = st.integers(1, most)
    return CharacterConfig(
        alphabet=alphabet,
        alphabet_size=draw(st.sampled_from([261, 262]) if alphabet == "bytes" else _above(6)),
        max_characters=most,
        embedding_dim=draw(sizes),
        filters=draw(st.lists(st.tuples(widths, sizes), min_size=1, max_size=3).map(tuple)),
        activation=draw(activations),
        highway_layers=draw(st.integers(0, 2)),
    )


def _above(least: int) -> st.SearchStrategy[int]:
    return st.integers(least, least + 9)


@st.composite
def bilm_configs(draw: st.DrawFn) -> ModelConfig:
    """Any model that bilm-tf could have trained."""
    characters = draw(st.none() | character_configs())
    projection_dim = draw(sizes)
    if characters and draw(st.booleans()):
        projection_dim = characters.output_dim
    lstm_dim = projection_dim + draw(st.integers(0, 3))
    size = draw(_above(3))
    return ModelConfig(
        characters=characters,
        words=None
        if characters
        else WordConfig(vocabulary_size=size, embedding_dim=projection_dim),
        token_projection=characters is not None and characters.output_dim != projection_dim,
        layers=draw(st.integers(1, 3)),
        lstm_dim=lstm_dim,
        projection_dim=projection_dim,
        lstm_projection=lstm_dim != projection_dim,
        cell_clip=draw(clips),
        projection_clip=draw(clips),
        skip_connections=draw(st.booleans()),
        softmax_size=size if draw(st.booleans()) else None,
        tokeniser=draw(st.sampled_from(["words", "whitespace"])),
    )


@st.composite
def many_langs_configs(draw: st.DrawFn) -> ModelConfig:
    """Any model that ELMoForManyLangs could have trained."""
    characters = draw(st.none() | character_configs("dictionary"))
    longest = characters.max_characters - 2 if characters else 5
    with_words = characters is None or draw(st.booleans())
    words = WordConfig(vocabulary_size=draw(_above(3)), embedding_dim=3, longest_word=longest)
    return ModelConfig(
        characters=characters,
        words=words if with_words else None,
        layers=draw(st.integers(1, 3)),
        lstm_dim=draw(sizes),
        projection_dim=draw(sizes),
        cell_clip=draw(clips.filter(bool)),
        projection_clip=draw(clips.filter(bool)),
        forget_bias=0.0,
        marks=many_langs.MARKS,
    )


@st.composite
def native_configs(draw: st.DrawFn) -> ModelConfig:
    """Any model at all: what no foreign format can express included."""
    config = draw(bilm_configs() | many_langs_configs())
    marks = draw(st.lists(words.filter(bool), min_size=3, max_size=3, unique=True))
    return replace(
        config,
        forget_bias=draw(st.floats(-9, 9)),
        skip_connections=draw(st.booleans()),
        marks=Marks(begin=marks[0], end=marks[1], unknown=marks[2]),
    )


@few_examples
@given(config=native_configs(), seed=st.integers(0, 99))
def test_any_native_model(config: ModelConfig, seed: int) -> None:
    checkpoint = model(config, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        native.write(checkpoint, Path(folder) / "model")
        found = native.read(Path(folder) / "model")
    assert_same(found, checkpoint)
    assert found.metadata == checkpoint.metadata


@few_examples
@given(config=bilm_configs(), seed=st.integers(0, 99), single=st.booleans())
def test_any_bilm_hdf5_model(config: ModelConfig, seed: int, single: bool) -> None:
    checkpoint = model(config, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("model.hdf5" if single else "model")
        bilm_hdf5.write(checkpoint, path)
        assert_same(detect.read(path), checkpoint)


@few_examples
@given(config=bilm_configs(), seed=st.integers(0, 99))
def test_any_tf_checkpoint_model(config: ModelConfig, seed: int) -> None:
    checkpoint = model(config, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        tf_checkpoint.write(checkpoint, Path(folder) / "model")
        assert_same(detect.read(Path(folder) / "model"), checkpoint)


@few_examples
@given(config=many_langs_configs(), seed=st.integers(0, 99))
def test_any_many_langs_model(config: ModelConfig, seed: int) -> None:
    checkpoint = model(config, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        many_langs.write(checkpoint, Path(folder) / "model")
        assert_same(detect.read(Path(folder) / "model"), checkpoint)


@few_examples
@given(others=st.lists(words, max_size=20))
def test_any_words_in_the_native_format(others: list[str]) -> None:
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *others])
    config = replace(BASE, softmax_size=len(vocabulary))
    checkpoint = replace(model(config), vocabulary=vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        native.write(checkpoint, Path(folder) / "model")
        assert_same(native.read(Path(folder) / "model"), checkpoint)


@few_examples
@given(others=st.lists(words.map(str.strip), max_size=20))
def test_any_words_in_the_bilm_format(others: list[str]) -> None:
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *others])
    config = replace(BASE, softmax_size=len(vocabulary))
    checkpoint = replace(model(config), vocabulary=vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        bilm_hdf5.write(checkpoint, Path(folder) / "model")
        assert_same(detect.read(Path(folder) / "model"), checkpoint)


def test_softmax_without_its_words(tmp_path: Path) -> None:
    checkpoint = replace(model(replace(BASE, softmax_size=9)), vocabulary=None)
    for form in (native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME):
        detect.write(checkpoint, tmp_path / form, form=form)
        assert_same(detect.read(tmp_path / form), checkpoint)


def test_metadata_survives(tmp_path: Path) -> None:
    facts = {"name": "größe 字", "licence": "CC-BY", "": "", "tab\tand\nline": "\u2028"}
    checkpoint = replace(model(), metadata=facts)
    for form in (native.NAME, bilm_hdf5.NAME, tf_checkpoint.NAME):
        detect.write(checkpoint, tmp_path / form, form=form)
        found = detect.read(tmp_path / form)
        assert found.metadata == facts
        assert_same_tensors(found, checkpoint)
