"""`elmokit.load`: what a source may be, and what it says about one that is none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.embed.describe import describe
from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load, read_checkpoint
from elmokit.errors import FormatError, InputError
from elmokit.formats import detect, native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained import bundled_names
from elmokit.pretrained.untrained import TINY_CONFIG, untrained_checkpoint

SENTENCE = [["a", "small", "test"]]


def tiny() -> Elmo:
    return load("tiny-untrained", device="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "native"
    native.write(untrained_checkpoint(), path)
    return path


@pytest.fixture(scope="module")
def hdf5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model_weights.hdf5"
    detect.write(untrained_checkpoint(), path)
    return path


def test_the_untrained_model_says_that_it_is() -> None:
    with pytest.warns(UserWarning, match="'tiny-untrained' is untrained"):
        elmo = load("tiny-untrained", device="cpu")
    assert elmo.metadata["trained"] == "no"
    assert elmo.config == TINY_CONFIG


def test_the_default_is_the_trained_model(recwarn: pytest.WarningsRecorder) -> None:
    first, second = load(device="cpu"), load("english-base", device="cpu")
    assert not recwarn.list
    assert first.metadata["name"] == "english-base"
    np.testing.assert_array_equal(first.embed(SENTENCE)[0], second.embed(SENTENCE)[0])


def test_a_bundled_model_by_name() -> None:
    assert bundled_names() == ["english-base", "tiny-untrained"]
    first, second = load("tiny-untrained", device="cpu"), load("tiny-untrained", device="cpu")
    np.testing.assert_array_equal(first.embed(SENTENCE)[0], second.embed(SENTENCE)[0])


def test_a_folder_by_string_or_path(folder: Path) -> None:
    for source in (folder, str(folder)):
        found = load(source, device="cpu").embed(SENTENCE)[0]
        np.testing.assert_allclose(found, tiny().embed(SENTENCE)[0], atol=1e-6)


def test_hdf5_by_path_or_with_its_options_elsewhere(hdf5: Path, tmp_path: Path) -> None:
    expected = tiny().embed(SENTENCE)[0]
    options = tmp_path / "elsewhere.json"
    options.write_bytes((hdf5.parent / "options.json").read_bytes())
    for arguments in (
        {"source": hdf5},
        {"source": hdf5.parent},
        {"weights": hdf5},
        {"weights": str(hdf5), "options": str(options)},
        {"source": hdf5, "options": options},
    ):
        elmo = load(**arguments, device="cpu")
        assert elmo.source_format == "bilm-hdf5"
        np.testing.assert_allclose(elmo.embed(SENTENCE)[0], expected, atol=1e-6)


@pytest.mark.parametrize("start", ["warm", "zeros", "carry"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_settings_are_kept(start: Any, dtype: str) -> None:
    elmo = load("tiny-untrained", device="cpu", start=start, dtype=dtype)
    assert (elmo.start, elmo.dtype, str(elmo.device)) == (start, dtype, "cpu")


def test_a_name_that_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load("elmo-large")
    assert "'elmo-large'" in str(caught.value)
    assert "tiny-untrained" in str(caught.value)


@pytest.mark.parametrize("name", ["folder/model", "model.hdf5", "./model"])
def test_a_path_that_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="no such file or folder"):
        load(name)


def test_source_and_weights_are_two_names_for_one_thing(folder: Path) -> None:
    with pytest.raises(InputError, match=r"^source, weights: give one of them"):
        load(folder, weights=folder)


@pytest.mark.parametrize("source", [None, "english-base", "tiny-untrained"])
@pytest.mark.parametrize("name", ["options", "vocabulary", "token_embedding"])
def test_companions_need_a_model(name: str, source: str | None) -> None:
    arguments: dict[str, Any] = {name: "some/file"}
    with pytest.raises(InputError, match=f"^{name}: given without a model"):
        load(source, **arguments)


@pytest.mark.parametrize("name", ["options", "vocabulary", "token_embedding"])
def test_a_native_folder_takes_no_companions(folder: Path, name: str) -> None:
    arguments: dict[str, Any] = {name: "some/file"}
    with pytest.raises(InputError, match=f"^{name}: .*native format, which takes no such file"):
        load(folder, **arguments)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no model .*model\.safetensors.*found nothing"):
        load(tmp_path)


def test_an_untrained_model_without_a_name(tmp_path: Path) -> None:
    native.write(replace(untrained_checkpoint(), metadata={"trained": "no"}), tmp_path / "model")
    with pytest.warns(UserWarning, match="untrained"):
        load(tmp_path / "model", device="cpu")


def with_softmax() -> Checkpoint:
    return untrained_checkpoint(replace(TINY_CONFIG, softmax_size=50))


def test_embedding_leaves_the_softmax_unread(tmp_path: Path) -> None:
    native.write(with_softmax(), tmp_path / "model")
    assert "softmax.weight" in read_checkpoint(tmp_path / "model").tensors
    elmo = load(tmp_path / "model", device="cpu")
    assert not any("softmax" in name for name in elmo.bilm.state_dict())


def test_describe_gives_plain_facts() -> None:
    assert describe(with_softmax()) == {
        "name": "tiny-untrained",
        "description": "random weights, untrained: for trying out the software only",
        "licence": "Apache-2.0",
        "trained": False,
        "format": "bundled",
        "input": "characters",
        "alphabet": "bytes",
        "max_characters": 50,
        "layers": 3,
        "dim": 64,
        "lstm_dim": 128,
        "projection_dim": 32,
        "skip_connections": True,
        "tokeniser": "words",
        "vocabulary_size": None,
        "parameters": 230_272,
        "softmax_parameters": 50 * 33,
        "has_start_state": False,
    }


def test_describe_counts_a_start_state_apart(tmp_path: Path) -> None:
    tiny().save(tmp_path / "model")
    facts = describe(read_checkpoint(tmp_path / "model"))
    assert facts["has_start_state"] is True
    assert facts["parameters"] == 230_272
