"""What can go wrong with a training's files and numbers costs no more than the last steps."""

import math
import os
import shutil
from pathlib import Path

import pytest
import safetensors.torch

from elmokit.errors import InputError
from elmokit.lm.presets import changed, preset_named
from elmokit.lm.pretrain import pretrain
from elmokit.training.conduct import Conduct
from elmokit.training.run_lock import run_lock
from integration.training_children import Nursery
from integration.training_run import RECIPES, last_state, log_of, saved_steps, task

DIES_IN_ITS_SECOND_SAVE = {"save": 2, "point": 0}


@pytest.fixture(scope="module")
def whole(
    nursery: Nursery, training_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert nursery.run(**task(training_corpus, folder)).code == 0
    return folder


@pytest.fixture(scope="module")
def begun(
    nursery: Nursery, training_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run with a checkpoint of step 3."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    assert nursery.run(**task(training_corpus, folder), die=DIES_IN_ITS_SECOND_SAVE).code < 0
    assert saved_steps(folder) == [3]
    return folder


@pytest.fixture
def run(begun: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(begun, tmp_path / "run")
    return tmp_path / "run"


def assert_same(run: Path, whole: Path) -> None:
    assert log_of(run) == log_of(whole)
    assert last_state(run) == last_state(whole)


@pytest.mark.parametrize(
    ("trick", "step", "reason"),
    [("disk full", 9, "No space left on device"), ("small files", 6, "File too large")],
)
def test_a_disk_that_takes_no_more(
    nursery: Nursery,
    training_corpus: Path,
    run: Path,
    whole: Path,
    trick: str,
    step: int,
    reason: str,
) -> None:
    child = task(training_corpus, run)
    ended = nursery.run(**child, trick=trick)
    assert ended.code == 1
    assert f"the checkpoint of step {step} could not be written" in ended.output
    assert reason in ended.output
    assert f"start the same command again: it goes on from step {step - 3}" in ended.output
    assert saved_steps(run)[-1] == step - 3
    assert list(run.rglob(".*")) == []
    assert nursery.run(**child).code == 0
    assert_same(run, whole)


def test_a_damaged_checkpoint(
    nursery: Nursery, training_corpus: Path, run: Path, whole: Path
) -> None:
    place = run / "checkpoints" / "step-00000003"
    content = bytearray((place / "state.safetensors").read_bytes())
    content[-1] ^= 1
    (place / "state.safetensors").write_bytes(content)
    child = task(training_corpus, run)
    ended = nursery.run(**child)
    assert ended.code == 1
    assert f"{place}: the checkpoint is damaged (state.safetensors: " in ended.output
    assert "delete this folder to go on from the beginning" in ended.output
    shutil.rmtree(place)
    assert nursery.run(**child).code == 0
    assert_same(run, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("learning_rate=0.001", "settings.learning_rate = 0.004, found 0.001"),
        ("steps=20", "settings.steps = 18, found 20"),
        ("seed=1", "settings.seed = 0, found 1"),
        ("layers=3", "model.layers = 2, found 3"),
        ("characters.max_characters=20", "model.characters.max_characters = 50, found 20"),
    ],
)
def test_changed_settings_are_refused_by_name(
    training_corpus: Path, run: Path, change: str, message: str
) -> None:
    before = log_of(run)
    preset = changed(preset_named("tiny"), [*RECIPES["adamw, full softmax"], change])
    with pytest.raises(InputError) as caught:
        pretrain(training_corpus, run, preset, conduct=Conduct(device="cpu", quiet=True))
    assert f"belongs to a run with {message}; start it with the same settings" in str(caught.value)
    assert log_of(run) == before


def test_a_training_that_diverges(nursery: Nursery, training_corpus: Path, tmp_path: Path) -> None:
    run, changes = tmp_path / "run", ["steps=60"]
    child = task(training_corpus, run, changes=changes, poison=list(range(4, 60)))
    ended = nursery.run(**child)
    assert ended.code == 1
    assert "step 5: not finite (forward_loss nan, " in ended.output
    assert "training has diverged: 20 steps in a row without a finite loss" in ended.output
    assert [record["step"] for record in log_of(run) if "left_out" in record] == list(range(5, 25))
    assert saved_steps(run) == [18, 21]
    states = [
        safetensors.torch.load_file(file)
        for file in sorted((run / "checkpoints").rglob("state.safetensors"))
    ]
    for name, tensor in states[0].items():
        assert math.isfinite(tensor.float().sum())
        assert tensor.equal(states[1][name])
    # Weights and optimiser are those of the last step that was finite.
    healthy = task(training_corpus, tmp_path / "four", changes=changes, conduct={"save_every": 4})
    assert nursery.run(**healthy, die=DIES_IN_ITS_SECOND_SAVE).code < 0
    place = tmp_path / "four" / "checkpoints" / "step-00000004"
    for name, tensor in safetensors.torch.load_file(place / "state.safetensors").items():
        assert name.startswith("carried/") or tensor.equal(states[1][name])


def test_a_second_run_in_the_same_folder(
    nursery: Nursery, training_corpus: Path, run: Path, whole: Path
) -> None:
    child = task(training_corpus, run)
    with run_lock(run):
        files = sorted(run.rglob("*"))
        ended = nursery.run(**child)
        assert sorted(run.rglob("*")) == files
    assert ended.code == 1
    assert f"InputError: {run}: another process is training there" in ended.output
    assert f"(process {os.getpid()} on " in ended.output
    assert nursery.run(**child).code == 0
    assert_same(run, whole)


def test_a_folder_below_a_file(training_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    preset = changed(preset_named("tiny"), RECIPES["adamw, full softmax"])
    with pytest.raises(InputError, match=r"run cannot be written to \(Not a directory\)"):
        pretrain(
            training_corpus, tmp_path / "file" / "run", preset,
            conduct=Conduct(device="cpu", quiet=True),
        )  # fmt: skip
