"""What a task adds to the training loop: epochs that are judged, averages, early stopping."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.tasks.learner import LOSS_NAME, TaskLearner
from elmokit.tasks.ner.task import NerTask
from elmokit.tasks.run import loop_settings
from elmokit.training.conduct import Conduct
from elmokit.training.distributed import World
from elmokit.training.journal import LiveLine
from elmokit.training.loop import Loop
from task_runs import WITHOUT_DROPOUT, Small, small_network, tiny_elmo

Tensors = dict[str, Tensor]


def learner_of(small: Small, world: World | None = None, **recipe: Any) -> TaskLearner:
    return TaskLearner(
        small.network,
        small.task,
        small.examples,
        small.examples,
        small.labels,
        replace(small.settings.recipe, **recipe),
        world=world or World(),
        line=LiveLine(quiet=True),
    )


def loop_of(learner: TaskLearner, small: Small, folder: Path) -> Loop:
    recipe = learner.recipe
    steps = recipe.epochs * learner.steps_per_epoch
    settings = loop_settings(
        replace(small.settings, recipe=recipe), Conduct(), steps, learner.steps_per_epoch
    )
    return Loop(learner, settings, folder, facts={})


def copied(learner: TaskLearner) -> Tensors:
    return {name: parameter.detach().clone() for name, parameter in learner.parameters.items()}


def equal(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


class Scripted(NerTask):
    """Gives the scores it is told to, and keeps the weights at each of them."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = list(scores)
        self.seen: list[Tensors] = []
        self.learner: TaskLearner | None = None

    def score(self, examples: Sequence[Any], predictions: Sequence[Any]) -> Mapping[str, float]:
        assert self.learner is not None
        self.seen.append(copied(self.learner))
        return {"f1": self.scores[len(self.seen) - 1]}


def scripted(
    folder: Path, scores: Sequence[float], **recipe: Any
) -> tuple[Scripted, TaskLearner, Loop]:
    task = Scripted(scores)
    small = replace(small_network("ner", folder), task=task)
    task.learner = learner_of(small, epochs=len(scores), **recipe)
    return task, task.learner, loop_of(task.learner, small, folder / "run")


@pytest.mark.parametrize(
    ("scores", "patience", "epochs"),
    [
        ([10, 50, 40, 30, 60, 70], 2, 4),
        ([10, 50, 50, 50, 50, 50], 2, 4),  # as good is not better
        ([10, 20, 30, 40, 50, 60], 1, 6),
        ([60, 10, 70, 10, 80, 10], 2, 6),
        ([60, 10, 10, 10, 10, 10], 1, 2),
        ([60, 10, 10, 10, 10, 10], None, 6),
        ([0, 0, 0, 0, 0, 0], 2, 6),  # nothing is there that could be kept
        ([0, 0, 0, 20, 10, 10], 1, 5),
    ],
)
def test_training_ends_when_the_score_no_longer_rises(
    tmp_path: Path, scores: list[float], patience: int | None, epochs: int
) -> None:
    _, learner, loop = scripted(tmp_path, scores, patience=patience, batch_size=20)
    assert learner.steps_per_epoch == 1
    assert loop.run() == "finished"
    assert loop.step == epochs
    assert learner.history == scores[:epochs]
    assert learner.done == (epochs < 6)


def test_the_best_epoch_is_taken_and_not_the_last(tmp_path: Path) -> None:
    task, learner, loop = scripted(tmp_path, [10, 50, 50, 30], patience=None)
    with pytest.raises(InputError, match="the run has not come to the end of an epoch"):
        learner.take_best()
    loop.run()
    assert learner.best_epoch == 1  # of two that are as good, the first
    assert learner.observations() == {"dev_score": 30, "best_dev_score": 50}
    assert equal(copied(learner), task.seen[3])
    learner.take_best()
    assert equal(copied(learner), task.seen[1])
    assert not equal(task.seen[1], task.seen[2])


def test_an_epoch_is_judged_when_all_examples_were_seen(tmp_path: Path) -> None:
    task, learner, loop = scripted(tmp_path, [1, 2, 3], patience=None, batch_size=6)
    assert learner.steps_per_epoch == 4
    assert (learner.item, learner.items_per_step) == ("examples", 6)
    for _ in range(3):
        loop.advance()
        learner.after(loop.step)
    assert task.seen == []
    assert learner.observations() == {}
    assert learner.best_epoch == -1
    loop.advance()
    learner.after(loop.step)
    assert learner.history == [1]


def test_the_average_follows_the_weights_and_is_what_is_judged(tmp_path: Path) -> None:
    task, learner, loop = scripted(
        tmp_path, [10, 20], patience=None, average=0.4, learning_rate=0.05
    )
    average = copied(learner)
    for _ in range(2 * learner.steps_per_epoch):
        loop.advance()
        before = copied(learner)
        learner.after(loop.step)
        # After the look at the dev data the weights that are trained are back.
        assert equal(copied(learner), before)
        kept = min(0.4, (1 + loop.step) / (10 + loop.step))
        average = {n: kept * average[n] + (1 - kept) * before[n] for n in average}
        if loop.step % learner.steps_per_epoch == 0:
            judged = task.seen[-1]
            for name, tensor in average.items():
                torch.testing.assert_close(judged[name], tensor, rtol=1e-5, atol=1e-6)
            assert not equal(judged, before)
    learner.take_best()
    assert equal(copied(learner), task.seen[1])


def test_a_long_average_forgets_the_first_weights_soon(tmp_path: Path) -> None:
    task, learner, loop = scripted(tmp_path, [10], patience=None, average=0.9999)
    start = copied(learner)
    loop.run()
    ends = copied(learner)
    name = "model.scores.weight"
    moved = (task.seen[0][name] - start[name]).norm() / (ends[name] - start[name]).norm()
    assert 0.3 < float(moved) < 1.0


def weights_after(folder: Path, *changes: str) -> Tensors:
    small = small_network("ner", folder, *changes, elmo=tiny_elmo())
    learner = learner_of(small)
    assert loop_of(learner, small, folder / "-".join(("run", *changes))).run() == "finished"
    return copied(learner)


def test_the_seed_decides_a_training_to_the_bit(tmp_path: Path) -> None:
    # With dropout everywhere and an average, as by default.
    changes = ("epochs=2", "average=0.9")
    first = weights_after(tmp_path / "a", *changes)
    assert equal(first, weights_after(tmp_path / "b", *changes))
    assert not equal(first, weights_after(tmp_path / "c", *changes, "seed=1"))


def test_the_random_numbers_of_others_change_nothing(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path)
    learner = learner_of(small)
    losses = []
    for number in range(2):
        torch.manual_seed(number)
        losses.append(float(learner.gradients(3)[LOSS_NAME]))
        torch.rand(number)
    assert losses[0] == losses[1]
    assert losses[0] != float(learner.gradients(3 + learner.steps_per_epoch)[LOSS_NAME])


@pytest.mark.parametrize("capitals", [0.0, 0.5])
def test_steps_may_come_in_any_order(tmp_path: Path, capitals: float) -> None:
    # A run that goes on begins anywhere; batches made ahead are those of their steps.
    small = small_network("ner", tmp_path, f"capitals={capitals}")
    one, other = learner_of(small), learner_of(small)
    forwards = [float(one.gradients(step)[LOSS_NAME]) for step in range(9)]
    backwards = [float(other.gradients(step)[LOSS_NAME]) for step in reversed(range(9))]
    assert forwards == backwards[::-1]


def test_a_state_put_back_is_the_state(tmp_path: Path) -> None:
    changes = ["batch_norm=true", "average=0.5"]
    one, other = (small_network("sst", tmp_path, *changes) for _ in range(2))
    learner = learner_of(one)
    loop_of(learner, one, tmp_path / "run").run()
    state = learner.state()
    kinds = {name.partition("/")[0] for name in state}
    assert kinds == {"history", "buffer", "best", "average"}
    assert any("running_mean" in name for name in state if name.startswith("best/"))
    fresh = learner_of(other)
    assert not equal(fresh.state(), state)
    fresh.load_state(state)
    assert equal(fresh.state(), state)
    assert fresh.history == learner.history
    learner.take_best()
    fresh.take_best()
    assert equal(one.network.state_dict(), other.network.state_dict())


def test_vectors_that_stay_as_they_are_need_no_place_in_the_state(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("went 1 2\nto 3 4\n")
    small = small_network("ner", tmp_path, "train_vectors=false", vectors=vectors)
    learner = learner_of(small)
    loop_of(learner, small, tmp_path / "run").run()
    assert "token_vectors.static.given" in small.network.state_dict()
    assert not [name for name in learner.state() if "static.given" in name]


@pytest.mark.parametrize("size", [2, 3])
def test_the_mean_over_processes_is_the_gradient_of_the_batch(tmp_path: Path, size: int) -> None:
    # 20 examples: a batch of 19, and one with an example for the first process alone.
    changes = [*WITHOUT_DROPOUT["ner"], "batch_size=19", "elmo_l2=0.5", "elmo_at=both",
               "capitals=0.4"]  # fmt: skip
    elmo = tiny_elmo()

    def parts(world: World, step: int) -> tuple[float, Tensors]:
        small = small_network("ner", tmp_path, *changes, elmo=elmo)
        for name, parameter in small.network.named_parameters():
            if name.endswith("_mix.weights"):
                with torch.no_grad():
                    parameter.copy_(torch.tensor([1.0, -2.0, 0.5]))
        learner = learner_of(small, world)
        loss = float(learner.gradients(step)[LOSS_NAME])
        gradients = {}
        for name, parameter in learner.parameters.items():
            assert parameter.grad is not None  # all processes exchange as much
            gradients[name] = parameter.grad
        return loss, gradients

    for step in (0, 1):
        loss, gradients = parts(World(), step)
        shares = [parts(World(rank, size), step) for rank in range(size)]
        assert sum(share for share, _ in shares) / size == pytest.approx(loss, abs=1e-5)
        for name, gradient in gradients.items():
            mean = torch.stack([share[name] for _, share in shares]).mean(dim=0)
            torch.testing.assert_close(mean, gradient, rtol=0, atol=1e-5, msg=name)


def test_processes_drop_differently(tmp_path: Path) -> None:
    def losses(*changes: str) -> list[float]:
        small = small_network("ner", tmp_path, "batch_size=20", *changes)
        same = replace(small, examples=[small.examples[0]] * 20)  # ten of them for each process
        return [
            float(learner_of(same, World(rank, 2)).gradients(0)[LOSS_NAME]) for rank in range(2)
        ]

    first, second = losses()
    assert first != second
    first, second = losses(*WITHOUT_DROPOUT["ner"])
    assert first == second
