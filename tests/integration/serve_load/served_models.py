"""Untrained models in folders, as small as a test wants them, and what goes with them."""

from dataclasses import replace
from pathlib import Path

from elmokit.formats import native
from elmokit.pretrained.untrained import TINY_CONFIG, untrained_checkpoint
from elmokit.tasks.task_folder import write_task
from elmokit.text.vocabulary import Vocabulary
from task_runs import small_network, tiny_elmo

WORDS = ("<S>", "</S>", "<UNK>", "the", ".", "cat", "dog", "sat", "on", "mat", "größe", "字")


def write_model(folder: Path, *, lstm_dim: int, projection_dim: int) -> Path:
    """Write a model with a softmax over a few words."""
    config = replace(
        TINY_CONFIG,
        lstm_dim=lstm_dim,
        projection_dim=projection_dim,
        softmax_size=len(WORDS),
    )
    native.write(untrained_checkpoint(config, vocabulary=Vocabulary(WORDS)), folder)
    return folder


def write_recogniser(folder: Path) -> Path:
    """Write an untrained model of a task."""
    network = small_network("ner", folder / "data", elmo=tiny_elmo())
    write_task(network.trained(), folder / "task", card="Untrained.")
    return folder / "task"
