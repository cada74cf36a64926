"""A task's training that is stopped and goes on is, to the bit, the one never stopped."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from elmokit.errors import InputError
from elmokit.files import check_manifest
from elmokit.tasks.learner import TaskLearner
from elmokit.tasks.run import TaskFiles, TaskOutcome
from integration.task_children import child, task_nursery
from integration.training_run import last_state, log_of, model_files, saved_steps
from small_tasks import RECORDS, write_records
from task_runs import TINY, data_of, run_small


class Case(NamedTuple):
    """A training."""

    task: str
    changes: list[str]
    elmo: str | None
    steps: int


CASES = {
    "ELMo at both ends, an average": Case("ner", ["average=0.9", "elmo_at=both"], TINY, 12),
    "batch normalisation": Case("sst", ["batch_norm=true", "average=0.9"], None, 9),
    "a biLM that is trained": Case("ner", ["train_elmo=true", "epochs=2"], TINY, 8),
    "stopped early": Case("sst", ["patience=2", "epochs=9", "learning_rate=1e-6"], None, 9),
}


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Train each case once."""
    runs: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in runs:
            case, folder = CASES[name], tmp_path_factory.mktemp("whole")
            outcome = run_small(case.task, folder, *case.changes, elmo=case.elmo)
            assert (outcome.ending, outcome.step) == ("finished", case.steps)
            runs[name] = folder / "run"
        return runs[name]

    return run


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int | None) -> None:
    """Ask the run to stop while it is at a step."""
    gradients = TaskLearner.gradients

    def stopping(learner: TaskLearner, number: int) -> Any:
        if number == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return gradients(learner, number)

    monkeypatch.setattr(TaskLearner, "gradients", stopping)


def stopped(
    monkeypatch: pytest.MonkeyPatch, step: int, folder: Path, case: Case, **more: Any
) -> TaskOutcome:
    with monkeypatch.context() as patched:
        stop_at(patched, step)
        outcome = run_small(case.task, folder, *case.changes, elmo=case.elmo, **more)
    assert (outcome.ending, outcome.step) == ("stopped", step + 1)
    return outcome


def assert_same(run: Path, whole: Path) -> None:
    assert log_of(run) == log_of(whole)
    assert saved_steps(run)[-1] == saved_steps(whole)[-1] == len(log_of(whole))
    assert last_state(run) == last_state(whole)
    assert model_files(run) == model_files(whole)
    results = [json.loads((folder / "result.json").read_text()) for folder in (run, whole)]
    for result in results:
        for name in [name for name in result if name.endswith("_seconds")]:
            del result[name]
    assert results[0] == results[1]
    assert list(run.rglob(".*")) == []


@pytest.mark.parametrize("name", CASES)
def test_stopped_and_gone_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    never_stopped: Callable[[str], Path],
    name: str,
) -> None:
    case = CASES[name]
    # In the middle of an epoch, and after the step that ends one.
    for step in (1, 3, 6):
        outcome = stopped(monkeypatch, step, tmp_path, case)
        assert outcome.model is None
        assert outcome.result == {}
        assert saved_steps(tmp_path / "run")[-1] == step + 1
    outcome = run_small(case.task, tmp_path, *case.changes, elmo=case.elmo)
    assert (outcome.ending, outcome.step) == ("finished", case.steps)
    assert_same(tmp_path / "run", never_stopped(name))


def test_out_of_time_and_gone_on(tmp_path: Path, never_stopped: Callable[[str], Path]) -> None:
    name = "batch normalisation"
    case = CASES[name]
    for _ in range(2):
        outcome = run_small(case.task, tmp_path, *case.changes, conduct={"minutes": 1e-9})
        assert (outcome.ending, outcome.step, outcome.model) == ("out of time", 0, None)
    run_small(case.task, tmp_path, *case.changes)
    assert_same(tmp_path / "run", never_stopped(name))


def test_how_often_it_saves_changes_nothing(
    tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    name = "ELMo at both ends, an average"
    case = CASES[name]
    conduct = {"save_every": 1, "keep": 3}
    run_small(case.task, tmp_path, *case.changes, elmo=case.elmo, conduct=conduct)
    assert saved_steps(tmp_path / "run") == [10, 11, 12]
    assert_same(tmp_path / "run", never_stopped(name))


@pytest.mark.parametrize("name", ["ELMo at both ends, an average", "batch normalisation"])
def test_killed_again_and_again(
    tmp_path: Path, never_stopped: Callable[[str], Path], name: str
) -> None:
    case = CASES[name]
    data = data_of(case.task, tmp_path)

    def described(folder: str, **more: Any) -> dict[str, Any]:
        place = tmp_path / folder
        return child(case.task, data, place, case.changes, case.elmo, save_every=2, **more)

    # Another process trains what this one does.
    ended = task_nursery().run(**described("undisturbed", trace=str(tmp_path / "trace")))
    assert ended.code == 0, ended.output
    assert_same(tmp_path / "undisturbed", never_stopped(name))
    points = json.loads((tmp_path / "trace" / "0.json").read_text())
    run = tmp_path / "run"
    # Some die inside a save, others anywhere; each goes on where the one before it had saved.
    of_save = [point for save, point in points if save == 2]
    half = of_save.index("half of the tensors")
    deaths: list[dict[str, int]] = [
        {"save": 2, "point": half},
        {"save": 2, "point": half + 2},
        {"point": 25},
        {"save": 1, "point": len(of_save) - 2},
        {"point": 33},
    ]
    for death in deaths:
        ended = task_nursery().run(**described("run", die=death))
        assert ended.code == -signal.SIGKILL, (death, ended.output)
        for place in (run / "checkpoints").glob("step-*"):  # what has the name is whole
            check_manifest(place, ("state.safetensors", "progress.json"))
    assert 0 < saved_steps(run)[-1] < case.steps
    ended = task_nursery().run(**described("run"))
    assert ended.code == 0, ended.output
    assert_same(run, never_stopped(name))


def test_killed_while_the_model_is_written(
    tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    name = "batch normalisation"
    case = CASES[name]
    data = data_of(case.task, tmp_path)
    described = child(case.task, data, tmp_path / "run", case.changes, case.elmo)
    trace = tmp_path / "trace"
    assert task_nursery().run(**described).code == 0
    # A finished run only writes its model again.
    assert task_nursery().run(**described, trace=str(trace)).code == 0
    points = json.loads((trace / "0.json").read_text())
    assert {"tensors", "half of the tensors", "half of a file"} <= {point for _, point in points}
    for point in range(2, len(points), 5):
        ended = task_nursery().run(**described, die={"point": point})
        assert ended.code == -signal.SIGKILL, ended.output
    assert task_nursery().run(**described).code == 0
    assert_same(tmp_path / "run", never_stopped(name))


class Begun:
    """A run that was stopped, and its files."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        train, dev, other = (data_of("ner", folder, f"{n}.jsonl") for n in ("train", "dev", "more"))
        write_records(dev, RECORDS["ner"][:7])
        self.files = TaskFiles(train=(train, other), dev=dev)
        self.vectors = folder / "vectors.txt"
        self.vectors.write_text("went 1 2\n")
        stopped(monkeypatch, 2, folder, self.case, files=self.files, vectors=self.vectors)

    case = Case("ner", [], None, 24)

    def go_on(self, *changes: str, **more: Any) -> TaskOutcome:
        given: dict[str, Any] = {"files": self.files, "vectors": self.vectors, **more}
        return run_small("ner", self.folder, *changes, **given)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    return Begun(tmp_path, monkeypatch)


def test_it_goes_on_with_the_same_settings_and_data(begun: Begun) -> None:
    assert begun.go_on().step == begun.case.steps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["seed=1"], "settings.recipe.seed = 0, found 1"),
        (["epochs=4"], "settings.recipe.epochs = 3, found 4"),
        (["inputs.dropout=0.1"], "settings.inputs.dropout = 0.3, found 0.1"),
        (["hidden_dim=8"], "settings.model.hidden_dim = 16, found 8"),
    ],
)
def test_other_settings_are_refused(begun: Begun, changes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"belongs to a run with {message}; start it with the"):
        begun.go_on(*changes)


def test_other_data_are_refused(begun: Begun) -> None:
    files = begun.files
    for file, role in ((files.train[1], "train"), (files.dev, "dev")):
        before = file.read_bytes()
        write_records(file, RECORDS["ner"][1:])
        with pytest.raises(
            InputError, match=rf"belongs to a run with data\.{role} = .*{file.name}"
        ):
            begun.go_on()
        file.write_bytes(before)
    swapped = TaskFiles(train=files.train[::-1], dev=files.dev)
    with pytest.raises(InputError, match=r"belongs to a run with data\.train"):
        begun.go_on(files=swapped)
    exchanged = TaskFiles(train=(files.train[0], files.dev), dev=files.train[1])
    with pytest.raises(InputError, match=r"belongs to a run with data\.train"):
        begun.go_on(files=exchanged)
    with pytest.raises(InputError, match=r"belongs to a run with data\.test"):
        begun.go_on(files=TaskFiles(train=files.train, dev=files.dev, test=(files.dev,)))
    assert begun.go_on().ending == "finished"


def test_other_vectors_share_or_bilm_are_refused(begun: Begun) -> None:
    with pytest.raises(InputError, match=r"belongs to a run with share = 1\.0, found 0\.5"):
        begun.go_on(share=0.5)
    with pytest.raises(
        InputError, match=r"belongs to a run with elmo = None, found '[0-9a-f]{64}'"
    ):
        begun.go_on(elmo=TINY)
    with pytest.raises(
        InputError, match=r"belongs to a run with vectors = '[0-9a-f]{64}', found N"
    ):
        begun.go_on(vectors=None)
    begun.vectors.write_text("went 1 3\n")
    with pytest.raises(InputError, match="belongs to a run with vectors = "):
        begun.go_on()


def test_another_task_in_the_same_folder_is_refused(begun: Begun) -> None:
    data = data_of("sst", begun.folder, "sst.jsonl")
    with pytest.raises(InputError, match="belongs to a run with task = 'ner', found 'sst'"):
        run_small("sst", begun.folder, files=TaskFiles(train=(data,), dev=data))
