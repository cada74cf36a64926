"""Matrix products whose rows do not depend on how many rows there are.

A product sums each row in an order that changes with the shape of the whole: on a CPU for the
odd rows at the end of a block, on a GPU with the kernel that is chosen for the shape. The same
sentence would then differ in its last bits (2e-6 and more on trained weights) with the number of
sentences around it. So rows are padded to whole blocks, and on a GPU each block is a product of
its own, always of one shape. `benchmarks/batch_independence.py` shows rows equal to the bit.

Training has no such promise to keep: with gradients on a GPU products stay whole.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

CPU_ROWS = 8
GPU_ROWS = 128


def rows_per_block(like: Tensor) -> int:
    """Give the size of a block for products on the device of ``like``."""
    return GPU_ROWS if _one_shape(like) else CPU_ROWS


def pad_rows(tensor: Tensor, dim: int = 0) -> Tensor:
    """Append zeros along ``dim`` up to whole blocks."""
    missing = -tensor.shape[dim] % rows_per_block(tensor)
    if missing == 0:
        return tensor
    return F.pad(tensor, [0, 0] * (tensor.ndim - 1 - dim) + [0, missing])


def blocks(tensor: Tensor) -> tuple[Tensor, ...]:
    """Cut padded rows into the pieces that go through products together."""
    return torch.split(tensor, GPU_ROWS) if _one_shape(tensor) else (tensor,)


def joined(pieces: list[Tensor]) -> Tensor:
    """Put the pieces together again."""
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def _one_shape(tensor: Tensor) -> bool:
    return tensor.is_cuda and not torch.is_grad_enabled()
