"""Predictions for many examples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from elmokit.tasks.batches import sorted_batches
from elmokit.tasks.network import TaskNetwork
from elmokit.tasks.task import Labels, Task

TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 32768}
EXAMPLES_AT_ONCE = 1024


def predictions_of(
    network: TaskNetwork,
    task: Task[Any],
    examples: Sequence[Any],
    labels: Labels,
) -> list[Any]:
    """Give the prediction for each example; texts of like length are computed together."""
    network.eval()
    tokens = TOKENS_AT_ONCE.get(network.device.type, TOKENS_AT_ONCE["cpu"])
    most = 1 if task.one_at_a_time else EXAMPLES_AT_ONCE
    found: list[Any] = [None] * len(examples)
    with torch.no_grad():
        for numbers in sorted_batches(example_sizes(task, examples), tokens=tokens, most=most):
            batch = network.batch(task, [examples[number] for number in numbers], labels)
            answers = network.predict(batch.to(network.device))
            for number, prediction in zip(numbers, answers, strict=True):
                found[number] = prediction
    return found


def example_sizes(task: Task[Any], examples: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Give the tokens of each example, all its texts together."""
    return np.array(
        [sum(len(text) for role in task.texts([one]) for text in role) for one in examples],
        dtype=np.int64,
    )
