"""Vectors for many requests at once: one pass over the biLM, and of its layers what each wants.

N tokens of a batch, n of a request, B sentences of a request, D size of a representation, L LSTM
layers
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.fetch import begin_fetch
from elmokit.embed.layer_choice import LayerChoice
from elmokit.serve.work import Part

Fetch = Callable[[], npt.NDArray[np.float32]]


class Wanted(NamedTuple):
    """What a request wants of its sentences."""

    choice: LayerChoice
    pooled: bool = False
    """One vector for each sentence, the mean of its tokens' vectors, as `Elmo.encode` gives."""


class Embedding:
    """Embeds token lists; a part gets (n, D) or (L+1, n, D), and (B, D) where it is pooled."""

    name = "embed"

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        # Always the same object: the engine remembers what comes after it.
        self._start = elmo.runner.zero_state(1) if elmo.start == "zeros" else elmo.warm_state

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        sentences = [tokens for part in parts for tokens in part.items if tokens]
        layers: list[Tensor] = []
        if sentences:
            layers = self._elmo.embedder(sentences, self._start)  # L+1 of (N, D)
        fetches: list[Fetch] = []
        end = 0
        for part in parts:
            lengths = [len(tokens) for tokens in part.items]
            first, end = end, end + sum(lengths)
            fetches.append(
                self._begin_part(part.wants, [row[first:end] for row in layers], lengths)
            )
        return lambda: [fetch() for fetch in fetches]

    def _begin_part(self, wants: Wanted, layers: list[Tensor], lengths: list[int]) -> Fetch:
        if not sum(lengths):
            shape = (len(lengths), self._elmo.dim) if wants.pooled else wants.choice.shape(0)
            empty = np.zeros(shape, dtype=np.float32)
            return lambda: empty
        with torch.no_grad():
            picked = wants.choice.pick(layers)
        if _is_view(picked, layers):
            picked = picked.clone()  # a view would keep the whole batch in memory
        fetch = begin_fetch(picked)
        if wants.pooled:
            return lambda: pooled(fetch(), lengths)
        return fetch


def pooled(vectors: npt.NDArray[np.float32], lengths: Sequence[int]) -> npt.NDArray[np.float32]:
    """Give the means (B, D) of the vectors (n, D) of sentences; zeros for one without tokens."""
    means = np.zeros((len(lengths), vectors.shape[1]), dtype=np.float32)
    end = 0
    for row, length in enumerate(lengths):
        first, end = end, end + length
        if length:
            means[row] = vectors[first:end].mean(axis=0)
    return means


def _is_view(picked: Tensor, layers: Sequence[Tensor]) -> bool:
    return any(picked.data_ptr() == layer.data_ptr() for layer in layers)
