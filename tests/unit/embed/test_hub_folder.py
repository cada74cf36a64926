"""Folders in the Hub's layout: saved, loaded, described; and the Hub without its package."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard

import elmokit
from elmokit.config import Marks
from elmokit.embed.elmo import Elmo
from elmokit.embed.hub_card import hub_card
from elmokit.embed.verify import verify
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.embed.conftest import SMALL_CONFIG

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sat")
SENTENCES = [["the", "cat", "sat"], ["sat"]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    config = replace(SMALL_CONFIG, softmax_size=len(WORDS))
    native.write(untrained_checkpoint(config, vocabulary=Vocabulary(WORDS)), tmp_path / "model")
    return tmp_path / "model"


def test_the_whole_model_comes_back(model: Path, tmp_path: Path) -> None:
    elmo = elmokit.load(model, device="cpu")
    folder = elmo.save_pretrained(tmp_path / "saved")
    assert folder == tmp_path / "saved"
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "config.json",
        "manifest.json",
        "model.safetensors",
        "softmax.safetensors",
        "vocabulary.txt",
    ]
    assert all(check.ok for check in verify(folder))
    again = Elmo.from_pretrained(folder, device="cpu", start="zeros")
    assert again.start == "zeros"
    again = Elmo.from_pretrained(str(folder), device="cpu")
    for found, expected in zip(again.embed(SENTENCES), elmo.embed(SENTENCES), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert [one.log_probability for one in again.score(SENTENCES)] == pytest.approx(
        [one.log_probability for one in elmo.score(SENTENCES)]
    )


def test_without_softmax_and_in_fewer_bytes(model: Path, tmp_path: Path) -> None:
    elmo = elmokit.load(model, device="cpu")
    small = elmo.save_pretrained(tmp_path / "small", softmax=False, storage="float16")
    assert not (small / "softmax.safetensors").exists()
    assert native.layout(small).storage == "float16"
    with pytest.raises(elmokit.InputError, match="has no softmax"):
        Elmo.from_pretrained(small, device="cpu").score(SENTENCES)
    with pytest.raises(elmokit.InputError, match="'float8'"):
        elmo.save_pretrained(tmp_path / "other", storage="float8")


def test_models_that_have_none_or_were_never_in_files(tmp_path: Path, elmo: Elmo) -> None:
    folder = elmo.save_pretrained(tmp_path / "saved")
    assert not (folder / "softmax.safetensors").exists()
    np.testing.assert_array_equal(
        Elmo.from_pretrained(folder, device="cpu").embed(SENTENCES)[0], elmo.embed(SENTENCES)[0]
    )


def test_nothing_is_replaced_unasked(tmp_path: Path, elmo: Elmo) -> None:
    folder = elmo.save_pretrained(tmp_path / "saved", readme="# Mine\n")
    with pytest.raises(elmokit.InputError, match="exists already"):
        elmo.save_pretrained(folder)
    assert (folder / "README.md").read_text() == "# Mine\n"
    elmo.save_pretrained(folder, overwrite=True)
    assert "# tiny-untrained" in (folder / "README.md").read_text()
    with pytest.raises(elmokit.InputError, match="readme: expected the text of a README, found 3"):
        elmo.save_pretrained(tmp_path / "other", readme=3)  # type: ignore[arg-type]
    assert not (tmp_path / "other").exists()


def test_bundled_names_and_names_that_are_none(tmp_path: Path) -> None:
    assert Elmo.from_pretrained("tiny-untrained", device="cpu").metadata["trained"] == "no"
    with pytest.raises(elmokit.InputError, match="found 'nowhere'"):
        Elmo.from_pretrained("nowhere")
    with pytest.raises(elmokit.InputError, match=r"org/name of the Hub, found '.*nowhere'"):
        Elmo.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(elmokit.FormatError, match=r"from_pretrained\('org/nowhere'\)"):
        elmokit.load("org/nowhere")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, elmo: Elmo, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for call in (
        lambda: Elmo.from_pretrained("org/name"),
        lambda: elmo.push_to_hub("org/name"),
    ):
        with pytest.raises(elmokit.MissingExtraError, match=r'pip install "elmokit\[hub\]"'):
            call()
    Elmo.from_pretrained(elmo.save_pretrained(tmp_path / "saved"), device="cpu")


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("CC-BY-SA-4.0", {"license": "cc-by-sa-4.0"}),
        ("ask: me\n", {"license": "other", "license_name": "ask: me\n"}),
        ("", {}),
    ],
)
def test_the_card(licence: str, expected: dict[str, str]) -> None:
    checkpoint = untrained_checkpoint(SMALL_CONFIG)
    metadata = {"name": "mine", "licence": licence, "description": "Of my letters."}
    card = hub_card(replace(checkpoint, metadata=metadata), address='org/"name"')
    read = ModelCard(card)
    facts, text = read.data.to_dict(), read.text  # type: ignore[no-untyped-call]
    assert facts.pop("tags")[0] == "elmo"
    assert facts == {
        "library_name": "elmokit",
        "pipeline_tag": "feature-extraction",
        **expected,
    }
    assert "# mine\n\nOf my letters.\n" in text
    assert r'from_pretrained("org/\"name\"")' in text
    assert "| size of a vector | 16 |" in text
    assert Marks().begin not in text
