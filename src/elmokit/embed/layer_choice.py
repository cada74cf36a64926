"""Which of a biLM's layers people want, and in what shape.

n tokens of a sentence, D size of a representation, L LSTM layers
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.errors import InputError

Vectors = npt.NDArray[np.float32]
Layers = str | int | Sequence[float] | npt.NDArray[np.floating]

EXPECTED = (
    "'average', 'top', 'all', the number of a layer, or one weight for each of the {count} layers"
)


class LayerChoice:
    """Turns the L+1 layers of a sentence into the array that was asked for.

    ``"all"`` gives (L+1, n, D); ``"average"``, ``"top"``, a number (negative: from the top) or a
    list of weights (used as they are, not normalised) give (n, D).
    """

    def __init__(self, layers: Layers, *, count: int, dim: int) -> None:
        self._dim = dim
        self._count = count
        self._weights: tuple[float, ...] | None = None
        self._index: int | None = None
        problem = InputError(f"layers: expected {EXPECTED.format(count=count)}, found {layers!r}")
        if isinstance(layers, bytes):
            raise problem
        if isinstance(layers, str):
            if layers == "average":
                self._weights = (1.0 / count,) * count
            elif layers == "top":
                self._index = count - 1
            elif layers != "all":
                raise problem
        elif isinstance(layers, int | np.integer) and not isinstance(layers, bool):
            if not -count <= layers < count:
                raise InputError(
                    f"layers: this model has layers 0 to {count - 1}, found {int(layers)}"
                )
            self._index = int(layers) % count
        else:
            try:
                weights = tuple(float(weight) for weight in layers)  # type: ignore[union-attr]
            except (TypeError, ValueError):
                raise problem from None
            if len(weights) != count or not np.isfinite(weights).all():
                raise problem
            self._weights = weights

    def shape(self, tokens: int) -> tuple[int, ...]:
        """Give the shape of the array of a sentence."""
        if self._weights is None and self._index is None:
            return (self._count, tokens, self._dim)
        return (tokens, self._dim)

    def pick(self, layers: Sequence[Tensor]) -> Tensor:
        """Combine L+1 tensors (N, D) into (N, D), or (L+1, N, D) for "all"."""
        if self._index is not None:
            return layers[self._index]
        if self._weights is None:
            return torch.stack(tuple(layers))
        total = self._weights[0] * layers[0]
        for weight, layer in zip(self._weights[1:], layers[1:], strict=True):
            total += weight * layer
        return total
