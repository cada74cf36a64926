"""Small trainings of every task: settings, networks and whole runs that take a moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import elmokit
from elmokit.embed.elmo import Elmo
from elmokit.tasks.assemble import (
    Words,
    build_network,
    choose_words,
    layer_store,
    texts_of,
    texts_of_training,
)
from elmokit.tasks.names import task_named
from elmokit.tasks.network import TaskNetwork
from elmokit.tasks.run import TaskFiles, TaskOutcome, train_task
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.task import Labels, Task
from elmokit.tasks.task_folder import TrainedTask
from elmokit.training.conduct import Conduct
from small_tasks import CHANGES, RECORDS, write_records

TINY = "tiny-untrained"
CPU = torch.device("cpu")

# Sizes of the inputs, and a recipe of a few steps.
SMALL = ["epochs=3", "patience=null", "learning_rate=5e-3", "warm_up=0", "average=null",
         "vector_dim=8", "min_count=1", "character_filters=[[3, 4]]",
         "character_dim=4"]  # fmt: skip
WITHOUT_DROPOUT = {
    "ner": ["word_dropout=0", "inputs.dropout=0", "elmo_dropout=0", "model.dropout=0"],
    "sst": ["inputs.dropout=0", "elmo_dropout=0", "model.dropout=0", "integrator_dropout=0",
            "output_dropouts=[0]"],
    "snli": ["inputs.dropout=0", "elmo_dropout=0", "model.dropout=0", "attention_dropout=0",
             "output_dropout=0"],
    "squad": ["word_dropout=0", "inputs.dropout=0", "elmo_dropout=0", "model.dropout=0"],
    "srl": ["word_dropout=0", "inputs.dropout=0", "elmo_dropout=0", "model.dropout=0"],
}  # fmt: skip


def settings_of(task: str, *changes: str) -> TaskSettings:
    """Give small settings of a task."""
    sizes = [change for change in CHANGES[task] if not change.startswith(("epochs", "patience"))]
    return task_named(task).defaults().changed([*SMALL, *sizes, *changes])


def tiny_elmo(device: str = "cpu") -> Elmo:
    """Give a biLM of 3 layers of 64 numbers."""
    return elmokit.load(TINY, device=device)


def data_of(task: str, folder: Path, name: str = "data.jsonl") -> Path:
    """Write a task's small data."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_records(folder / name, RECORDS[task])


@dataclass(frozen=True, kw_only=True)
class Small:
    """A network and the examples that it was built for."""

    task: Task[Any]
    settings: TaskSettings
    examples: Sequence[Any]
    labels: Labels
    words: Words
    network: TaskNetwork
    elmo: Elmo | None

    def trained(self, elmo_name: str = TINY) -> TrainedTask:
        """Give it as training hands it over to be written."""
        return TrainedTask(
            task=self.task,
            settings=self.settings,
            labels=self.labels,
            words=self.words,
            network=self.network,
            elmo=self.elmo,
            elmo_name=elmo_name if self.elmo is not None else "",
            figures={},
        )


def small_network(
    task: str,
    folder: Path,
    *changes: str,
    elmo: Elmo | None = None,
    vectors: Path | None = None,
    device: torch.device = CPU,
) -> Small:
    """Build the network of a task for its small data, with the layers of all texts stored."""
    chosen, settings = task_named(task), settings_of(task, *changes)
    examples = chosen.read(data_of(task, folder))
    labels = chosen.labels(examples)
    texts = texts_of(chosen, examples)
    words = choose_words(settings, vectors, train=texts, others=[])
    network = build_network(chosen, settings, labels, words, elmo=elmo, device=device)
    network.store = layer_store(elmo, settings, device=device)
    if network.store is not None:
        network.store.add(texts_of_training(texts, settings))
    return Small(
        task=chosen,
        settings=settings,
        examples=examples,
        labels=labels,
        words=words,
        network=network,
        elmo=elmo,
    )


def run_small(
    task: Task[Any] | str,
    folder: Path,
    *changes: str,
    files: TaskFiles | None = None,
    conduct: dict[str, Any] | None = None,
    **more: Any,
) -> TaskOutcome:
    """Train a task in ``folder / "run"`` on its small data, which are dev data too."""
    chosen = task_named(task) if isinstance(task, str) else task
    if files is None:
        data = data_of(chosen.name, folder)
        files = TaskFiles(train=(data,), dev=data)
    given: dict[str, Any] = {"device": "cpu", "quiet": True, "log_every": 1, **(conduct or {})}
    settings = settings_of(chosen.name, *changes)
    return train_task(chosen, folder / "run", settings, files, conduct=Conduct(**given), **more)
