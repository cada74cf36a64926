"""Vectors in half the size."""

import numpy as np
import numpy.typing as npt
import torch

from elmokit.errors import InputError

# All exponent bits set: infinite or no number.
_EXPONENT = 0x7C00


def as_float16(vectors: npt.NDArray[np.floating], number: int) -> npt.NDArray[np.float16]:
    """Round the vectors of the sentence with this number."""
    # By torch, because numpy takes fourteen times as long.
    half: npt.NDArray[np.float16] = torch.tensor(vectors, dtype=torch.float16).numpy()
    if ((half.view(np.uint16) & _EXPONENT) == _EXPONENT).any():
        raise InputError(f"sentence {number}: a value is too large for float16; write float32")
    return half
