"""The models that come with the package."""

from pathlib import Path

from elmokit.errors import InputError
from elmokit.files import exists
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained.untrained import UNTRAINED_NAME, untrained_checkpoint

DEFAULT_NAME = "english-base"
TASK_MODELS = {"ner": "english-ner"}
"""The folder of the task model that comes with the package, by its task."""


def bundled_names() -> list[str]:
    """Name the models that come with the package."""
    return [DEFAULT_NAME, UNTRAINED_NAME]


def bundled_name(source: str | Path | None) -> str | None:
    """Say which bundled model a user means by ``source``: a path that exists is none."""
    if source is None:
        return DEFAULT_NAME
    if isinstance(source, str) and source in bundled_names() and not exists(Path(source)):
        return source
    return None


def bundled_folder(name: str) -> Path | None:
    """Give the folder of a bundled model; the untrained one is made when it is asked for."""
    if name not in bundled_names():
        raise InputError(f"model: expected one of {', '.join(bundled_names())}, found {name!r}")
    return None if name == UNTRAINED_NAME else Path(__file__).parent / name


def bundled_task_folder(task: str) -> Path | None:
    """Give the folder of the task model that comes with the package, None where there is none."""
    name = TASK_MODELS.get(task)
    return None if name is None else Path(__file__).parent / name


def bundled_checkpoint(name: str, *, softmax: bool = True) -> Checkpoint:
    """Give a bundled model; ``softmax=False`` leaves the language model's output layer unread."""
    folder = bundled_folder(name)
    return untrained_checkpoint() if folder is None else native.read(folder, softmax=softmax)
