"""Why every matrix product here has a multiple of eight rows.

A CPU's matrix product sums a row in another order when it is one of the odd rows at the end of a
block, so the same sentence would differ in its last bits (2e-6 on trained weights) with the
number of sentences around it. With whole blocks each row is summed in one order, whatever stands
beside it: `benchmarks/batch_independence.py` shows it to the bit.
"""

import torch.nn.functional as F
from torch import Tensor

ROW_MULTIPLE = 8


def whole_blocks(rows: int) -> int:
    """Give the next multiple of `ROW_MULTIPLE`."""
    return -(-rows // ROW_MULTIPLE) * ROW_MULTIPLE


def pad_rows(tensor: Tensor, dim: int = 0) -> Tensor:
    """Append zeros along ``dim`` up to whole blocks."""
    missing = whole_blocks(tensor.shape[dim]) - tensor.shape[dim]
    if missing == 0:
        return tensor
    return F.pad(tensor, [0, 0] * (tensor.ndim - 1 - dim) + [0, missing])
