"""How far the vectors of two contenders are apart."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def agreement(reference: Path, other: Path) -> dict[str, Any]:
    """Compare two files of vectors, (layers, tokens, size) for each sentence."""
    expected, found = _stacked(reference), _stacked(other)
    if expected.shape != found.shape:
        raise ValueError(f"vectors of shape {found.shape}, expected {expected.shape}")
    norms = np.linalg.norm(expected, axis=-1) * np.linalg.norm(found, axis=-1)
    cosines = (expected * found).sum(axis=-1) / norms  # (layers, tokens)
    return {
        "largest_difference": float(np.abs(expected - found).max()),
        "largest_value": float(np.abs(expected).max()),
        "mean_cosine_by_layer": [float(cosine) for cosine in cosines.mean(axis=-1)],
    }


def _stacked(file: Path) -> Array:
    """Put the tokens of all sentences one after the other."""
    with np.load(file) as arrays:
        return np.concatenate([arrays[name] for name in arrays.files], axis=1).astype(np.float64)
