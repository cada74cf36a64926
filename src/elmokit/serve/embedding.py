"""Vectors for many requests at once: one pass over the biLM, and of its layers what each wants.

N tokens of a batch, n of a request, B sentences of a request, D size of a representation, L LSTM
layers
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.fetch import begin_fetch
from elmokit.embed.layer_choice import LayerChoice
from elmokit.serve.work import Part

Array = npt.NDArray[np.float32]


class Wanted(NamedTuple):
    """What a request wants of its sentences."""

    choice: LayerChoice
    """Requests with the same object are picked from the layers together."""
    pooled: bool = False
    """One vector for each sentence, the mean of its tokens' vectors, as `Elmo.encode` gives."""


class Embedding:
    """Embeds token lists; a part gets (n, D) or (L+1, n, D), and (B, D) where it is pooled."""

    name = "embed"

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self.device = str(elmo.device)
        # Always the same object: the engine remembers what comes after it.
        self._start = elmo.runner.zero_state(1) if elmo.start == "zeros" else elmo.warm_state

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        sentences = [tokens for part in parts for tokens in part.items if tokens]
        layers = self._elmo.embedder(sentences, self._start) if sentences else None  # (N, D) each
        ends = [0, *accumulate(sum(map(len, part.items)) for part in parts)]
        by_choice: dict[LayerChoice, list[int]] = {}
        for number, part in enumerate(parts):
            by_choice.setdefault(part.wants.choice, []).append(number)
        begun = []
        for choice, numbers in by_choice.items():
            places = [(ends[number], ends[number + 1]) for number in numbers]
            fetch = _begin_pick(choice, layers, places, everything=len(by_choice) == 1)
            begun.append((numbers, fetch))
        return lambda: _finish(parts, begun)


def _begin_pick(
    choice: LayerChoice,
    layers: Sequence[Tensor] | None,
    places: Sequence[tuple[int, int]],
    *,
    everything: bool,
) -> Callable[[], Array]:
    """Begin to fetch what was chosen of the tokens at some places, one after another."""
    if layers is None:
        empty = np.zeros(choice.shape(0), dtype=np.float32)
        return lambda: empty
    with torch.no_grad():
        if not everything:
            layers = [torch.cat([layer[a:b] for a, b in places]) for layer in layers]
        return begin_fetch(choice.pick(layers))


def _finish(
    parts: Sequence[Part], begun: Sequence[tuple[list[int], Callable[[], Array]]]
) -> list[Any]:
    results: list[Any] = [None] * len(parts)
    for numbers, fetch in begun:
        values = fetch()  # (..., tokens of these parts, D)
        end = 0
        for number in numbers:
            lengths = [len(tokens) for tokens in parts[number].items]
            first, end = end, end + sum(lengths)
            part = values[..., first:end, :]
            # A copy, because a view would keep the vectors of the whole batch in memory.
            results[number] = pooled(part, lengths) if parts[number].wants.pooled else part.copy()
    return results


def pooled(vectors: Array, lengths: Sequence[int]) -> Array:
    """Give the means (B, D) of the vectors (n, D) of sentences; zeros for one without tokens."""
    means = np.zeros((len(lengths), vectors.shape[1]), dtype=np.float32)
    end = 0
    for row, length in enumerate(lengths):
        first, end = end, end + length
        if length:
            means[row] = vectors[first:end].mean(axis=0)
    return means
