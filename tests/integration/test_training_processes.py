"""Several processes train what one trains; they stop, go on and fail together."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from elmokit.corpus.prepared import PreparedCorpus
from elmokit.lm.assemble import build_objective, settled
from elmokit.lm.learner import BiLMLearner
from elmokit.lm.objective import Batch
from elmokit.lm.presets import changed, preset_named
from elmokit.lm.word_table import WordTable
from elmokit.text.token_indexer import TokenIndexer
from elmokit.training.distributed import World
from elmokit.training.run_lock import run_lock
from integration.training_children import PATIENCE, Ended, Nursery
from integration.training_run import RECIPES, STEPS, log_of, saved_steps, task

# Two processes add up gradients in another order than one does: losses near 4 differ in the last
# bits of float32 (5e-7 was seen), and by more the longer the training is.
CLOSE = 1e-5
LOSSES = ("forward_loss", "backward_loss")


def losses_of(run: Path) -> list[float]:
    return [record[name] for record in log_of(run) for name in LOSSES]


def assert_close(run: Path, other: Path) -> None:
    assert losses_of(run) == pytest.approx(losses_of(other), abs=CLOSE, rel=0)
    assert len(losses_of(run)) == STEPS * len(LOSSES)
    assert saved_steps(run) == saved_steps(other)
    place = f"checkpoints/step-{STEPS:08d}/state.safetensors"
    own, others = (safetensors.torch.load_file(folder / place) for folder in (run, other))
    assert own.keys() == others.keys()
    for name, tensor in own.items():
        assert (tensor - others[name]).abs().max() < CLOSE, name


def assert_finished(ended: list[Ended]) -> None:
    assert [process.code for process in ended] == [0] * len(ended), ended


@pytest.fixture(scope="module")
def alone(
    nursery: Nursery, training_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A run of one process for each recipe."""
    runs = {recipe: tmp_path_factory.mktemp("alone") / "run" for recipe in RECIPES}
    for recipe, folder in runs.items():
        assert_finished([nursery.run(**task(training_corpus, folder, recipe))])
    return runs


@pytest.mark.parametrize("recipe", RECIPES)
def test_processes_share_out_the_same_batches(training_corpus: Path, recipe: str) -> None:
    corpus = PreparedCorpus(training_corpus)
    config, settings = settled(changed(preset_named("tiny"), RECIPES[recipe]), corpus)
    objective = build_objective(config, settings, start=None, fused=True)
    indexer = TokenIndexer.for_model(config, vocabulary=corpus.vocabulary(), characters=None)
    table = WordTable(corpus.words, indexer, objective.bilm.token_encoder)

    def batches(world: World, step: int) -> list[Batch]:
        learner = BiLMLearner(
            objective, table, corpus, settings, world=world, device=torch.device("cpu")
        )
        return learner.batches(step)

    for step in (0, 7, 100):
        one = batches(World(), step)
        two = [batch for rank in range(2) for batch in batches(World(rank, 2), step)]
        for own, other in zip(_rows(one), _rows(two), strict=True):
            assert torch.equal(own, other)
        if settings.samples is not None:
            assert one[0].samples is not None
            for batch in [*one, *two]:
                assert batch.samples is not None
                assert torch.equal(batch.samples, one[0].samples)


def _rows(batches: list[Batch]) -> list[Tensor]:
    """Join what the rows of batches read, predict and keep."""
    parts = [(torch.cat(b.words)[b.places], b.targets, b.keep) for b in batches]
    return [torch.cat(tensors, dim=2) for tensors in zip(*parts, strict=True)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_are_as_good_as_one(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, alone: dict[str, Path], recipe: str
) -> None:
    assert_finished(nursery.run_world(2, **task(training_corpus, tmp_path / "run", recipe)))
    assert_close(tmp_path / "run", alone[recipe])


def test_four_processes_are_as_good_as_one(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, alone: dict[str, Path]
) -> None:
    assert_finished(nursery.run_world(4, **task(training_corpus, tmp_path / "run")))
    assert_close(tmp_path / "run", alone["adamw, full softmax"])


def test_two_processes_repeat_themselves_to_the_bit(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        assert_finished(nursery.run_world(2, **task(training_corpus, tmp_path / name)))
    assert log_of(tmp_path / "one") == log_of(tmp_path / "two")


def test_accumulation_changes_nothing(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, alone: dict[str, Path]
) -> None:
    child = task(training_corpus, tmp_path / "run", changes=["accumulation=4"])
    assert_finished([nursery.run(**child)])
    assert_close(tmp_path / "run", alone["adamw, full softmax"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_number_of_processes_changes_on_the_way(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, alone: dict[str, Path], recipe: str
) -> None:
    child = task(training_corpus, tmp_path / "run", recipe)
    # A process dies in its second save; its last checkpoint is then that of step 3.
    assert nursery.run(**child, die={"save": 2, "point": 0}).code < 0
    assert saved_steps(tmp_path / "run") == [3]
    ended = nursery.run_world(2, **child, die={"save": 3, "point": 0})
    assert ended[0].code < 0
    assert ended[1].code == 1
    assert "another process of the run is gone" in ended[1].output
    assert saved_steps(tmp_path / "run") == [6, 9]
    assert_finished([nursery.run(**child)])
    assert_close(tmp_path / "run", alone[recipe])
    # One process has done the first steps both times.
    first = 3 * len(LOSSES)
    assert losses_of(tmp_path / "run")[:first] == losses_of(alone[recipe])[:first]


def test_steps_that_are_not_finite_in_one_process_are_left_out_by_all(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    for size, name in ((1, "one"), (2, "two")):
        child = task(training_corpus, tmp_path / name, poison=[4, 10, 11])
        assert_finished(nursery.run_world(size, **child))
    one, two = log_of(tmp_path / "one"), log_of(tmp_path / "two")
    assert [r["step"] for r in one if "left_out" in r] == [5, 11, 12]
    assert [r["step"] for r in two if "left_out" in r] == [5, 11, 12]
    own, others = (
        [record[name] for record in log if "left_out" not in record for name in LOSSES]
        for log in (one, two)
    )
    assert own == pytest.approx(others, abs=CLOSE, rel=0)


def test_a_failing_save_ends_all_processes(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    child = task(training_corpus, tmp_path / "run", trick="disk full")
    first, second = nursery.run_world(2, **child)
    assert (first.code, second.code) == (1, 1)
    assert "the checkpoint of step 6 could not be written" in first.output
    assert "process 0 of the run has failed; its message says why" in second.output
    assert saved_steps(tmp_path / "run") == [3]


def test_a_failing_step_of_one_process_ends_all(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    child = task(training_corpus, tmp_path / "run", trick="last process fails")
    first, second = nursery.run_world(2, **child)
    assert (first.code, second.code) == (1, 1)
    assert "RuntimeError: the corpus is gone" in second.output
    assert "another process of the run is gone" in first.output


def test_a_process_that_cannot_begin_ends_all(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    child = task(training_corpus, tmp_path / "run", trick="cannot begin")
    first, second = nursery.run_world(2, **child)
    assert (first.code, second.code) == (1, 1)
    assert "InputError: the first process cannot begin" in first.output
    assert "process 0 of the run has failed" in second.output


def test_a_folder_in_use_ends_all(nursery: Nursery, training_corpus: Path, tmp_path: Path) -> None:
    child = task(training_corpus, tmp_path / "run")
    with run_lock(tmp_path / "run"):
        first, second = nursery.run_world(2, **child)
    assert (first.code, second.code) == (1, 1)
    assert f"InputError: {tmp_path / 'run'}: another process is training there" in first.output
    assert "process 0 of the run has failed; its message says why" in second.output
    assert_finished(nursery.run_world(2, **child))
    assert list((tmp_path / "run").rglob(".*")) == []


def test_processes_must_share_a_disk(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    child = task(training_corpus, tmp_path / "run")
    assert nursery.run(**child, die={"save": 2, "point": 0}).code < 0
    for process in nursery.run_world(2, **child, trick="separate disks"):
        assert process.code == 1
        assert "different steps [0, 3]; the folder must be on a disk that all" in process.output


def test_one_process_is_asked_to_stop_and_all_do(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, alone: dict[str, Path]
) -> None:
    child = task(training_corpus, tmp_path / "run")
    ended = nursery.run_world(2, **child, trick="last process stops")
    assert_finished(ended)
    for process in ended:
        facts = json.loads(process.output.splitlines()[-1])
        assert (facts["ending"], facts["step"]) == ("stopped", 5)
    assert saved_steps(tmp_path / "run") == [3, 5]
    assert_finished(nursery.run_world(2, **child))
    assert_close(tmp_path / "run", alone["adamw, full softmax"])


def test_rows_that_cannot_be_shared_out(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    for process in nursery.run_world(3, **task(training_corpus, tmp_path / "run")):
        assert process.code == 1
        assert "rows: 4 rows cannot be shared out to 3 processes equally" in process.output


def test_torchrun(training_corpus: Path, tmp_path: Path, alone: dict[str, Path]) -> None:
    run = tmp_path / "run"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    changes = [word for change in RECIPES["adamw, full softmax"] for word in ("--set", change)]
    found = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--master-port", str(port), "-m", "elmokit.cli", "train", str(training_corpus)),
            *("-o", str(run), *changes, "--log-every", "1", "--save-every", "3", "--json"),
            *("--device", "cpu"),
        ],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=PATIENCE,
    )
    assert found.returncode == 0, found.stderr
    assert_close(run, alone["adamw, full softmax"])
    report = json.loads(found.stdout)
    assert (report["ending"], report["model"]) == ("finished", str(run / "model"))
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    assert result["processes"] == 2
