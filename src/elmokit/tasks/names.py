"""The tasks by name."""

from importlib import import_module
from typing import Any

from elmokit.errors import InputError
from elmokit.tasks.task import Task

TASK_NAMES = ("ner", "sst", "snli", "squad", "srl", "coref")


def task_named(name: str) -> Task[Any]:
    """Give a task; its modules are imported when it is asked for."""
    if name not in TASK_NAMES:
        raise InputError(f"task: expected one of {', '.join(TASK_NAMES)}, found {name!r}")
    task: Task[Any] = import_module(f"elmokit.tasks.{name}.task").TASK
    return task
