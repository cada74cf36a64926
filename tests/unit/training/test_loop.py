"""The loop, with a learner small enough to see through."""

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.training.journal import LiveLine
from elmokit.training.loop import MOST_BAD_STEPS, Loop, LoopSettings
from elmokit.training.optimiser import OptimiserName
from elmokit.training.schedule import Schedule
from unit.training.linear_learner import (
    Disturbance,
    LinearLearner,
    infinite_gradient,
    nan_loss,
)

FACTS: dict[str, Any] = {"settings": {"rate": 0.1, "words": None}, "corpus": 7}


def loop(
    folder: Path,
    disturb: Disturbance | None = None,
    *,
    steps: int = 20,
    facts: dict[str, Any] | None = None,
    since: float | None = None,
    **settings: Any,
) -> Loop:
    chosen: dict[str, Any] = {"log_every": 1, "save_every": 4, "optimiser": "adamw"} | settings
    schedule = Schedule(peak=0.1, steps=steps, warm_up=3, decay="cosine")
    made = Loop(
        LinearLearner(disturb),
        LoopSettings(schedule=schedule, **chosen),
        folder,
        facts=FACTS if facts is None else facts,
        since=since,
    )
    made.resume()
    return made


def weights(made: Loop) -> list[float]:
    return [parameter.item() for parameter in made.learner.parameters.values()]


def records(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "log.jsonl").read_text().splitlines()
    times = ("items_per_second", "seconds_left")
    return [{k: v for k, v in json.loads(line).items() if k not in times} for line in lines]


def stop_at(step: int) -> Disturbance:
    def disturb(now: int, learner: LinearLearner, loss: Tensor) -> Tensor:
        if now == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss

    return disturb


def test_it_learns(tmp_path: Path) -> None:
    made = loop(tmp_path, steps=200)
    assert made.run() == "finished"
    assert weights(made) == pytest.approx([2, 1], abs=0.3)
    losses = [record["point_loss"] for record in records(tmp_path)]
    assert losses[-1] < losses[0] / 100


def test_what_a_record_says(tmp_path: Path) -> None:
    loop(tmp_path, steps=8, log_every=3).run()
    found = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in found] == [3, 4, 6, 8]  # a save at 4 and 8 writes one too
    assert found[0].keys() == {
        "step", "epoch", "point_loss", "gradient_norm", "learning_rate", "items_per_second",
        "seconds_left", "largest_memory",
    }  # fmt: skip
    assert found[0]["epoch"] == 3 / LinearLearner.steps_per_epoch
    assert found[-1]["seconds_left"] == 0


def test_a_record_is_the_mean_since_the_last(tmp_path: Path) -> None:
    loop(tmp_path / "each", steps=6).run()
    loop(tmp_path / "some", steps=6, log_every=3).run()
    losses = [record["point_loss"] for record in records(tmp_path / "each")]
    first = records(tmp_path / "some")[0]
    assert first["point_loss"] == pytest.approx(sum(losses[:3]) / 3)
    assert first["learning_rate"] == pytest.approx(0.1 * 3 / 4)


@pytest.mark.parametrize("optimiser", ["adamw", "adagrad"])
@pytest.mark.parametrize("step", [0, 3, 4, 10, 19])
def test_a_stopped_run_goes_on_to_the_bit(
    tmp_path: Path, optimiser: OptimiserName, step: int
) -> None:
    whole = loop(tmp_path / "whole", optimiser=optimiser)
    assert whole.run() == "finished"
    stopped = loop(tmp_path / "run", stop_at(step), optimiser=optimiser)
    assert stopped.run() == ("finished" if step == 19 else "stopped")
    assert stopped.step == step + 1
    after = loop(tmp_path / "run", optimiser=optimiser)
    assert after.step == step + 1
    assert after.run() == "finished"
    assert weights(after) == weights(whole)
    assert isinstance(after.learner, LinearLearner)
    assert after.learner.steps_seen == list(range(step + 1, 20))
    assert records(tmp_path / "run") == records(tmp_path / "whole")
    assert after.seconds > 0


def test_a_learner_may_end_the_run(tmp_path: Path) -> None:
    made = loop(tmp_path)
    learner = made.learner
    assert isinstance(learner, LinearLearner)

    def after(step: int) -> None:
        learner.looked_at.append(step)
        learner.done = step == 6

    learner.after = after  # type: ignore[method-assign]
    assert made.run() == "finished"
    assert made.step == 6
    assert learner.looked_at == [1, 2, 3, 4, 5, 6]
    assert made.checkpoints.steps()[-1] == 6


def test_a_finished_run_has_nothing_to_do(tmp_path: Path) -> None:
    loop(tmp_path, steps=6).run()
    again = loop(tmp_path, steps=6)
    assert again.run() == "finished"
    assert isinstance(again.learner, LinearLearner)
    assert again.learner.steps_seen == []
    assert again.checkpoints.steps() == [4, 6]


def test_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    made = loop(tmp_path, save_every=3, keep=3)
    made.run()
    assert made.checkpoints.steps() == [15, 18, 20]


@pytest.mark.parametrize("disturb", [nan_loss, infinite_gradient])
def test_a_step_that_is_not_finite_is_left_out(
    tmp_path: Path, disturb: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = loop(tmp_path, disturb(5), steps=5)
    made.run()
    before = weights(made)
    optimiser = {k: v.clone() for k, v in made._state({}).tensors.items()}
    made = Loop(
        LinearLearner(disturb(5)),
        LoopSettings(schedule=Schedule(peak=0.1, steps=6, warm_up=3, decay="cosine"), log_every=1),
        tmp_path,
        facts=FACTS,
        line=LiveLine(),
    )
    assert made.resume() == 5
    made.run()
    assert weights(made) == before
    for name, tensor in made._state({}).tensors.items():
        assert torch.equal(tensor, optimiser[name])
    assert isinstance(made.learner, LinearLearner)
    assert made.learner.memory.tolist() == [0.0] * 8
    assert records(tmp_path)[-1] == {"step": 6, "left_out": 1}
    said = capsys.readouterr().err
    assert "step 6: not finite (point_loss " in said
    assert "; the step is left out" in said


def test_steps_after_one_left_out_are_finite_and_repeatable(tmp_path: Path) -> None:
    bad = (3, 9, 10)
    whole = loop(tmp_path / "whole", nan_loss(*bad))
    whole.run()
    assert all(map(math.isfinite, weights(whole)))
    assert [r["step"] for r in records(tmp_path / "whole") if "left_out" in r] == [4, 10, 11]

    def disturb(step: int, learner: LinearLearner, loss: Tensor) -> Tensor:
        return stop_at(9)(step, learner, nan_loss(*bad)(step, learner, loss))

    assert loop(tmp_path / "run", disturb).run() == "stopped"
    after = loop(tmp_path / "run", nan_loss(*bad))
    assert after.step == 10
    after.run()
    assert weights(after) == weights(whole)
    assert records(tmp_path / "run") == records(tmp_path / "whole")


def test_too_many_bad_steps_in_a_row_end_the_run(tmp_path: Path) -> None:
    made = loop(tmp_path, nan_loss(*range(6, 100)), steps=100)
    with pytest.raises(InputError, match=r"training has diverged: 20 steps in a row.*lower") as e:
        made.run()
    assert "point_loss nan" in str(e.value)
    assert made.step == 6 + MOST_BAD_STEPS
    # Checkpoints from within the bad steps hold the weights from before them.
    found = made.checkpoints.load()
    assert found is not None
    assert found.step == 24
    assert found.tensors["weights/weight"].item() == weights(made)[0]
    whole = loop(tmp_path / "whole", steps=100)
    for _ in range(6):
        whole.advance()
    assert weights(whole) == weights(made)


def test_the_count_of_bad_steps_survives_a_stop(tmp_path: Path) -> None:
    bad = nan_loss(*range(6, 100))

    def disturb(step: int, learner: LinearLearner, loss: Tensor) -> Tensor:
        return stop_at(15)(step, learner, bad(step, learner, loss))

    assert loop(tmp_path, disturb, steps=100).run() == "stopped"
    after = loop(tmp_path, bad, steps=100)
    with pytest.raises(InputError, match="20 steps in a row"):
        after.run()
    assert after.step == 6 + MOST_BAD_STEPS


def test_bad_steps_apart_from_each_other_do_not_end_the_run(tmp_path: Path) -> None:
    made = loop(tmp_path, nan_loss(*range(0, 60, 2)), steps=60)
    assert made.run() == "finished"


def test_gradients_are_clipped_together(tmp_path: Path) -> None:
    made = loop(tmp_path, steps=1, clip=0.5)
    made.advance()
    norm = torch.nn.utils.get_total_norm([p.grad for p in made.learner.parameters.values()])  # type: ignore[misc]
    assert norm.item() == pytest.approx(0.5, rel=1e-4)
    made._log()
    assert records(tmp_path)[0]["gradient_norm"] > 1


def test_out_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("elmokit.training.loop.time.monotonic", lambda: now)

    def slow(step: int, learner: LinearLearner, loss: Tensor) -> Tensor:
        nonlocal now
        now += 15
        return loss

    made = loop(tmp_path, slow, minutes=1, save_every=100)
    assert made.run() == "out of time"
    assert (made.step, made.checkpoints.steps()) == (5, [5])
    after = loop(tmp_path, slow, minutes=1, save_every=100)
    assert after.seconds == 75
    assert after.run() == "out of time"
    assert after.step == 10
    # What was done before the loop counts too.
    late = loop(tmp_path, slow, minutes=1, save_every=100, since=now - 40)
    assert late.run() == "out of time"
    assert late.step == 12


@pytest.mark.parametrize("key", ["log_every", "save_every", "keep", "minutes"])
def test_settings_that_make_no_sense(key: str) -> None:
    with pytest.raises(InputError, match=f"{key}: expected .*, found 0"):
        LoopSettings(schedule=Schedule(peak=0.1, steps=5), **{key: 0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"settings": {"rate": 0.2, "words": None}, "corpus": 7}, "settings.rate = 0.1, found 0.2"),
        ({"settings": {"rate": 0.1, "words": None}, "corpus": 8}, "corpus = 7, found 8"),
        (
            {"settings": {"rate": 0.1, "words": {"size": 3}}, "corpus": 7},
            "settings.words.size = None, found 3",
        ),
    ],
)
def test_changed_settings_are_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    loop(tmp_path, steps=4).run()
    before = (tmp_path / "log.jsonl").read_text()
    with pytest.raises(InputError) as caught:
        loop(tmp_path, steps=4, facts=changed)
    assert f"belongs to a run with {message}; start it with the same settings" in str(caught.value)
    assert (tmp_path / "log.jsonl").read_text() == before


def test_a_setting_that_is_gone_is_refused(tmp_path: Path) -> None:
    loop(tmp_path, steps=4, facts={"words": {"size": 3}}).run()
    with pytest.raises(InputError, match=r"words\.size = 3, found None"):
        loop(tmp_path, steps=4, facts={"words": None})


def test_a_full_disk_is_told_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        free = 0

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    with pytest.raises(InputError, match="the disk is full"):
        loop(tmp_path)


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(InputError, match="cannot be written to"):
        loop(tmp_path / "run")
