"""How alike vectors are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.errors import InputError


def cosines(
    first: npt.ArrayLike | Tensor | Sequence[Tensor],
    second: npt.ArrayLike | Tensor | Sequence[Tensor],
) -> Tensor:
    """Give the cosine of every vector of ``first`` with every vector of ``second``."""
    left, right = (normalised(_matrix(vectors)) for vectors in (first, second))
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"similarity: vectors of different sizes, found {left.shape[1]} and {right.shape[1]}"
        )
    return left @ right.T


def normalised(matrix: Tensor) -> Tensor:
    """Give each row the length 1."""
    return torch.nn.functional.normalize(matrix, dim=1)


def _matrix(vectors: Any) -> Tensor:
    try:
        if isinstance(vectors, Tensor):
            matrix = vectors
        elif isinstance(vectors, list | tuple) and vectors and isinstance(vectors[0], Tensor):
            matrix = torch.stack(list(vectors))
        else:
            matrix = torch.from_numpy(np.asarray(vectors, dtype=np.float32))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"similarity: expected vectors of one size ({error})") from error
    if matrix.ndim == 1:
        matrix = matrix[None]
    if matrix.ndim != 2:
        raise InputError(
            f"similarity: expected vectors of shape (n, dim), found {tuple(matrix.shape)}"
        )
    return matrix.to(torch.float32)
