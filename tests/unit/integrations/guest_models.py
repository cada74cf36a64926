"""A model in a folder, small enough to be saved and loaded by many guests."""

from dataclasses import replace
from pathlib import Path

from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint
from small_models import CONFIG


def save_model(folder: Path, *, seed: int = 0) -> Elmo:
    """Save a model of a few dozen cells, another one for another seed."""
    checkpoint = untrained_checkpoint(CONFIG, seed=seed)
    elmo = Elmo(replace(checkpoint, metadata={"name": "guest"}), device="cpu")
    elmo.save(folder, overwrite=True)
    return elmo
