"""Processes that train task models, and die or stop on command: see `training_children`."""

import atexit
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from integration import training_children
from integration.training_children import Fate, Nursery, put, serve


class TaskNursery(Nursery):
    """Starts trainings of tasks in processes of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "integration.task_children"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=Path(__file__).parents[1],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )


@cache
def task_nursery() -> TaskNursery:
    """Start one for all tests of this process."""
    nursery = TaskNursery()
    atexit.register(nursery.close)
    return nursery


def child(
    task: str, data: Path, folder: Path, changes: list[str], elmo: str | None, **more: Any
) -> dict[str, Any]:
    """Describe a training to a `TaskNursery`."""
    return {
        "task": task, "data": str(data), "folder": str(folder), "changes": changes, "elmo": elmo,
        **more,
    }  # fmt: skip


def train(
    *,
    task: str,
    data: str,
    folder: str,
    changes: list[str],
    elmo: str | None,
    save_every: int = 1000,
    die: dict[str, Any] | None = None,
    trace: str | None = None,
    stop: dict[str, int] | None = None,
) -> int:
    """Train in this process.

    ``die`` names a point of a `Fate`; ``trace`` is a folder for all points that were passed, a
    file for each process; ``stop`` is the ``rank`` that is asked to stop, and at which ``step``.
    """
    from elmokit.tasks.names import task_named
    from elmokit.tasks.run import TaskFiles, train_task
    from elmokit.training.conduct import Conduct
    from task_runs import settings_of

    rank = int(os.environ.get("RANK", "0"))
    fate = Fate(Path(folder), die or {})
    fate.watch()
    watch_steps(fate, stop if stop is not None and stop["rank"] == rank else None)
    outcome = train_task(
        task_named(task),
        Path(folder),
        settings_of(task, *changes),
        TaskFiles(train=(Path(data),), dev=Path(data)),
        elmo=elmo,
        conduct=Conduct(device="cpu", quiet=True, log_every=1, save_every=save_every),
    )
    if trace is not None:
        Path(trace).mkdir(exist_ok=True)
        (Path(trace) / f"{rank}.json").write_text(json.dumps(fate.points), encoding="utf-8")
    print(json.dumps({"ending": outcome.ending, "step": outcome.step}))
    return 0


def watch_steps(fate: Fate, stop: dict[str, int] | None) -> None:
    """Notice the steps of a task, and be asked to stop at one of them."""
    from elmokit.tasks.learner import TaskLearner

    gradients = TaskLearner.gradients

    def watched(learner: TaskLearner, step: int) -> Any:
        fate.passes("gradients")
        if stop is not None and step == stop["step"]:
            os.kill(os.getpid(), signal.SIGTERM)
        return gradients(learner, step)

    put(TaskLearner, gradients=watched)


def main() -> None:
    """Fork children that train tasks until nobody asks any more."""
    import warnings

    import task_runs

    for name in ("ner", "sst"):
        task_runs.settings_of(name)

    warnings.filterwarnings("ignore", "the model .* is untrained")
    put(training_children, train=train)
    serve()


if __name__ == "__main__":
    main()
