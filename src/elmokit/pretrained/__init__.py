"""The models that come with the package."""

from elmokit.errors import InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained.untrained import UNTRAINED_NAME, untrained_checkpoint

DEFAULT_NAME = UNTRAINED_NAME


def bundled_names() -> list[str]:
    """Name the models that come with the package."""
    return [UNTRAINED_NAME]


def bundled_checkpoint(name: str) -> Checkpoint:
    """Give a bundled model."""
    if name != UNTRAINED_NAME:
        raise InputError(f"model: expected one of {', '.join(bundled_names())}, found {name!r}")
    return untrained_checkpoint()
