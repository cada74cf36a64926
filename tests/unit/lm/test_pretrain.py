"""A run has its folder for itself, and a damaged corpus is named."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.corpus.prepare import prepare
from elmokit.errors import FormatError, InputError
from elmokit.lm import pretrain as module
from elmokit.lm.presets import Preset
from elmokit.lm.pretrain import Outcome, pretrain
from elmokit.training.loop import Loop
from elmokit.training.run_lock import run_lock
from unit.lm.small_text import CONFIG, KITCHEN, QUIET, SETTINGS, write_text

PRESET = Preset(model=CONFIG, settings=replace(SETTINGS, steps=4))


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared corpus in several shards, with held-out text."""
    folder = tmp_path_factory.mktemp("kitchen")
    text = write_text(folder / "kitchen.txt", KITCHEN, 100)
    valid = write_text(folder / "valid.txt", KITCHEN, 20, seed=1)
    prepare(text, folder / "prepared", valid=valid, processes=1, shard_tokens=200)
    return folder / "prepared"


def train(corpus: Path, folder: Path) -> Outcome:
    return pretrain(corpus, folder, PRESET, conduct=QUIET)


def test_a_run_in_a_folder_in_use_is_refused_at_once(kitchen: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with run_lock(folder):
        before = sorted(tmp_path.rglob("*"))
        for corpus in (kitchen, tmp_path / "not looked for"):
            with pytest.raises(InputError, match=f"{folder}: another process is training there"):
                train(corpus, folder)
        assert sorted(tmp_path.rglob("*")) == before
    assert train(kitchen, folder).ending == "finished"


def test_the_folder_is_locked_to_the_end(
    kitchen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tried = tmp_path / "run", []

    def trying(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def tries(*arguments: Any) -> Any:
            with pytest.raises(InputError, match="another process"), run_lock(folder):
                pass
            tried.append(name)
            return function(*arguments)

        monkeypatch.setattr(owner, name, tries)

    trying(Loop, "run")
    trying(module, "evaluate_held_out")
    trying(module, "_write_model")
    assert train(kitchen, folder).ending == "finished"
    assert tried == ["run", "evaluate_held_out", "_write_model"]
    assert list(folder.rglob(".*")) == []
    assert train(kitchen, folder).ending == "finished"


def test_what_cannot_be_trained_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no prepared corpus"):
        train(tmp_path / "none", tmp_path / "runs" / "first")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["train-00001.npy", "valid-00000.npy"])
def test_a_shard_with_ids_that_no_word_has(kitchen: Path, tmp_path: Path, name: str) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(kitchen, corpus)
    ids = np.load(corpus / name)
    ids[ids > 2] = 60_000
    np.save(corpus / name, ids)
    with pytest.raises(
        FormatError, match=rf"{corpus / name}: an id that no word has.*60000; .* prepare the corpus"
    ):
        train(corpus, tmp_path / "run")
