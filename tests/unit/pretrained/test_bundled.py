"""The model in the box: small enough, whole, described, and a language model too."""

import re
from pathlib import Path

import pytest

from elmokit import files
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.pretrained import (
    DEFAULT_NAME,
    bundled_checkpoint,
    bundled_folder,
    bundled_name,
    bundled_names,
)

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def folder() -> Path:
    found = bundled_folder(DEFAULT_NAME)
    assert found is not None
    return found


def test_the_files_and_their_sizes(folder: Path) -> None:
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert sizes.keys() == {
        "README.md",
        "config.json",
        "manifest.json",
        "model.safetensors",
        "softmax.safetensors",
        "vocabulary.txt",
    }
    assert sizes["model.safetensors"] <= 40 * MEGABYTE
    assert sizes["softmax.safetensors"] <= 25 * MEGABYTE


def test_vectors_do_without_the_softmax_s_file(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    sha256_of = files.sha256_of

    def counting(file: Path) -> str:
        hashed.append(file.name)
        return sha256_of(file)

    monkeypatch.setattr(files, "sha256_of", counting)
    checkpoint = bundled_checkpoint(DEFAULT_NAME, softmax=False)
    assert sorted(hashed) == ["config.json", "model.safetensors", "vocabulary.txt"]
    assert checkpoint.config.softmax_size is None
    assert not any(name.startswith("softmax.") for name in checkpoint.tensors)


def test_it_predicts_words() -> None:
    elmo = load(device="cpu")
    likely, unlikely = elmo.score(["He drank a cup of tea .", "He drank a cup of the ."])
    assert likely.log_probability > unlikely.log_probability + 2
    best = elmo.substitutes("We will return next ___ or summer .", count=5, rescore=False)
    assert {"winter", "autumn"} <= {substitute.word for substitute in best}


def test_the_card_says_what_is_in_the_files(folder: Path) -> None:
    card = files.read_text(folder / "README.md")
    checkpoint = bundled_checkpoint(DEFAULT_NAME)
    assert card.startswith(f"# {DEFAULT_NAME}\n")
    for heading in ("Use", "Model", "Data and licences", "Training", "Held-out text", "Limits"):
        assert f"\n## {heading}\n" in card
    assert checkpoint.metadata["name"] == DEFAULT_NAME
    assert checkpoint.metadata["licence"] == "CC-BY-SA-4.0"
    assert "CC BY-SA 4.0" in card
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", checkpoint.metadata["trained"])
    assert checkpoint.vocabulary is not None
    for number in (
        checkpoint.config.lstm_dim,
        checkpoint.config.projection_dim,
        len(checkpoint.vocabulary),
    ):
        assert f"{number:,}" in card


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bundled_name(None) == DEFAULT_NAME == bundled_names()[0]
    assert [bundled_name(name) for name in bundled_names()] == bundled_names()
    assert bundled_name("english") is None
    assert bundled_name(Path(DEFAULT_NAME)) is None, "a path is no name"
    (tmp_path / DEFAULT_NAME).mkdir()
    assert bundled_name(DEFAULT_NAME) is None, "what exists wins"


def test_a_name_that_is_none() -> None:
    for call in (bundled_folder, bundled_checkpoint):
        with pytest.raises(InputError, match=r"expected one of english-base, .*found 'english'"):
            call("english")
