"""Task models without the rest: fixed random vectors for words, and a few steps of training."""

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from elmokit.tasks.task import Task, TaskModel, TextVectors


def text_vectors(
    texts: Sequence[Sequence[str]], size: int = 24, output_size: int = 0
) -> TextVectors:
    """Give every word a vector that depends on the word alone."""
    longest = max(map(len, texts))
    inputs = torch.zeros(len(texts), longest, size)
    at_output = torch.zeros(len(texts), longest, output_size) if output_size else None
    mask = torch.zeros(len(texts), longest, dtype=torch.bool)
    words = torch.full((len(texts), longest), -1)
    numbers: dict[str, int] = {}
    for row, tokens in enumerate(texts):
        for place, token in enumerate(tokens):
            inputs[row, place] = _vector(token, size)
            if at_output is not None:
                at_output[row, place] = _vector(token + "!", output_size)
            mask[row, place] = True
            words[row, place] = numbers.setdefault(token.lower(), len(numbers))
    return TextVectors(inputs, at_output, mask, words)


def _vector(word: str, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(zlib.crc32(word.encode()))
    return torch.randn(size, generator=generator)


def trained(
    task: Task[Any],
    examples: Sequence[Any],
    *,
    model: TaskModel,
    labels: dict[str, Any],
    steps: int,
    rate: float = 3e-3,
    size: int = 24,
    output_size: int = 0,
) -> list[Any]:
    """Train a model on all examples at once and give its predictions for them."""
    texts = [text_vectors(role, size, output_size) for role in task.texts(examples)]
    targets = task.targets(examples, labels)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(steps):
        optimiser.zero_grad()
        losses = model.losses(texts, targets)
        assert losses.shape == (len(examples),)
        losses.mean().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    model.eval()
    with torch.no_grad():
        return model.predict(texts, targets)
