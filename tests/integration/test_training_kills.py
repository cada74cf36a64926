"""A training that is killed again and again is, to the bit, the one that was never stopped."""

import json
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.files import check_manifest
from integration.training_children import Nursery
from integration.training_run import (
    KEEP,
    RECIPES,
    SAVE_EVERY,
    STEPS,
    last_state,
    log_of,
    model_files,
    saved_steps,
    task,
)

Points = list[tuple[int | None, str]]


@pytest.fixture(scope="module")
def never_stopped(
    nursery: Nursery, training_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Train without a stop, once for each way; the points that it passed are in points.json."""
    runs: dict[str, Path] = {}

    def run(recipe: str, **more: Any) -> Path:
        key = json.dumps([recipe, more])
        if key not in runs:
            folder = tmp_path_factory.mktemp("whole") / "run"
            trace = str(folder.parent / "points.json")
            ended = nursery.run(**task(training_corpus, folder, recipe, trace=trace, **more))
            assert ended.code == 0, ended.output
            runs[key] = folder
        return runs[key]

    return run


def points_of(run: Path) -> Points:
    found: Points = json.loads((run.parent / "points.json").read_text(encoding="utf-8"))
    return found


def resume_and_kill(nursery: Nursery, **child: Any) -> bool:
    """Let a child go on and die; say whether it did, and did not finish before."""
    run = Path(child["folder"])
    before = saved_steps(run)
    ended = nursery.run(**child)
    assert ended.code in (0, -signal.SIGKILL), ended.output
    after = saved_steps(run)
    assert after[-1:] >= before[-1:]
    assert len(after) <= KEEP + 1
    for place in (run / "checkpoints").glob("step-*"):  # what has the name is whole
        check_manifest(place, ("state.safetensors", "progress.json"))
    if (run / "log.jsonl").exists() and after:
        lines = (run / "log.jsonl").read_bytes().splitlines()
        done = json.loads(lines[-2])["step"] if len(lines) > 1 else 0  # the last may be torn
        assert done - after[-1] <= SAVE_EVERY
    return ended.code != 0


def assert_same(run: Path, whole: Path) -> None:
    assert log_of(run) == log_of(whole)
    steps = len(log_of(run))
    assert [record["step"] for record in log_of(run)] == list(range(1, steps + 1))
    assert saved_steps(run) == saved_steps(whole) == [steps - SAVE_EVERY, steps]
    assert last_state(run) == last_state(whole)
    assert model_files(run) == model_files(whole)
    assert list(run.rglob(".*")) == []


def test_killed_at_every_point_of_a_save(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, never_stopped: Callable[..., Path]
) -> None:
    recipe, longer = "adamw, full softmax", ["steps=42"]
    whole = never_stopped(recipe, changes=longer)
    names = [name for save, name in points_of(whole) if save == 4]  # the fourth forgets the first
    assert {"half of the tensors", "half of a file", "fsync", "os.rename", "os.rmdir"} <= {*names}
    assert names[-1] == "end of the save"
    run = tmp_path / "run"
    child = task(training_corpus, run, recipe, changes=longer)
    # Three checkpoints first: only then does a save remove one.
    assert resume_and_kill(nursery, **child, die={"save": 3, "point": len(names) - 6})
    kills = 1
    for point in range(len(names)):
        kills += resume_and_kill(nursery, **child, die={"save": 1, "point": point})
    assert kills == len(names) + 1
    assert nursery.run(**child).code == 0
    assert_same(run, whole)


@pytest.mark.parametrize("recipe", RECIPES)
def test_killed_at_many_points_outside_a_save(
    nursery: Nursery,
    training_corpus: Path,
    tmp_path: Path,
    never_stopped: Callable[..., Path],
    recipe: str,
) -> None:
    whole = never_stopped(recipe)
    # A child that begins anew passes so many points up to its second save.
    points = points_of(whole)
    second = next(number for number, (save, _) in enumerate(points) if save == 2)
    outside = [number for number, (save, _) in enumerate(points[:second]) if save is None]
    assert {points[number][1] for number in outside} >= {
        "gradients", "before the update", "after the update", "half of a record",
    }  # fmt: skip
    run, chance = tmp_path / "run", random.Random(1)
    child = task(training_corpus, run, recipe)
    kills = sum(
        resume_and_kill(nursery, **child, die={"point": point})
        for point in chance.sample(outside, 12)
    )
    assert kills >= 6  # a child near the end may finish before it dies
    while resume_and_kill(nursery, **child, die={"save": 2, "point": 5}):
        kills += 1
    assert_same(run, whole)


def test_killed_after_training_while_the_model_is_written(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, never_stopped: Callable[..., Path]
) -> None:
    recipe = "adamw, full softmax"
    whole = never_stopped(recipe)
    run = tmp_path / "run"
    child = task(training_corpus, run, recipe)
    assert nursery.run(**child).code == 0
    shutil.rmtree(run / "model")
    again = tmp_path / "points.json"
    assert nursery.run(**child, trace=str(again)).code == 0
    shutil.rmtree(run / "model")
    for point in range(0, len(points_of(run)), 3):
        assert nursery.run(**child, die={"point": point}).code == -signal.SIGKILL
    assert nursery.run(**child).code == 0
    assert_same(run, whole)


def test_killed_around_steps_that_are_not_finite(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, never_stopped: Callable[..., Path]
) -> None:
    recipe, poison = "adamw, full softmax", [4, 10, 11]
    whole = never_stopped(recipe, poison=poison)
    run = tmp_path / "run"
    child = task(training_corpus, run, recipe, poison=poison)
    points = points_of(whole)
    left_out = [record["step"] for record in log_of(whole) if "left_out" in record]
    assert left_out == [5, 11, 12]
    updates = [name for _, name in points].count("before the update")
    assert updates == STEPS - len(poison)
    for point in (15, 30, 18, 30):
        assert resume_and_kill(nursery, **child, die={"save": 1, "point": point // 2})
        assert resume_and_kill(nursery, **child, die={"point": point})
    assert nursery.run(**child).code == 0
    assert_same(run, whole)
    assert last_state(whole) != last_state(never_stopped(recipe))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_hundred_kills_at_any_moment(
    nursery: Nursery,
    training_corpus: Path,
    tmp_path: Path,
    never_stopped: Callable[..., Path],
    recipe: str,
) -> None:
    whole = never_stopped(recipe)
    points = sum(save == 4 for save, _ in points_of(whole))
    chance, kills, inside, runs = random.Random(2), 0, 0, 0
    while kills < 100:
        runs += 1
        run = tmp_path / str(runs) / "run"
        child = task(training_corpus, run, recipe)
        going = True
        while going:
            if chance.random() < 0.5:
                point = {"save": 1, "point": chance.randrange(points)}
                going = resume_and_kill(nursery, **child, die=point)
                inside += going
            else:  # a moment by the clock
                going = resume_and_kill(nursery, **child, kill_after=chance.uniform(0.02, 0.6))
            kills += going
        assert_same(run, whole)
    assert inside >= kills / 3
