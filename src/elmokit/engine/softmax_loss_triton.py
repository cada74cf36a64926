"""Losses and gradients of logits in place, in Triton: each row is read twice and written once.

n positions, V vocabulary
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import torch
import triton
import triton.language as tl
from torch import Tensor

# Of the sizes tried on an H200 with 65,536 words, the fastest by a little; the second reading
# of a row comes from the cache.
BLOCK = 16384
WARPS = 32


@triton.jit
def _kernel(logits, targets, losses, vocabulary, scale, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * vocabulary
    target = tl.load(targets + row)
    target_value = tl.load(start + target).to(tl.float32)
    largest = -float("inf")
    total = 0.0
    for first in range(0, vocabulary, block):
        column = first + tl.arange(0, block)
        values = tl.load(start + column, column < vocabulary, other=-float("inf")).to(tl.float32)
        new_largest = tl.maximum(largest, tl.max(values, axis=0))
        total = total * tl.exp(largest - new_largest) + tl.sum(tl.exp(values - new_largest), 0)
        largest = new_largest
    tl.store(losses + row, tl.log(total) + largest - target_value)
    for first in range(0, vocabulary, block):
        column = first + tl.arange(0, block)
        inside = column < vocabulary
        values = tl.load(start + column, inside, other=-float("inf")).to(tl.float32)
        gradient = tl.exp(values - largest) * (scale / total)
        gradient -= tl.where(column == target, scale, 0.0)
        tl.store(start + column, gradient, inside)


def loss_and_gradient_(logits: Tensor, targets: Tensor, scale: float) -> Tensor:
    """Give the losses (n,) of ``logits`` (n, V), which become their gradient times ``scale``."""
    rows, vocabulary = logits.shape
    losses = logits.new_empty(rows, dtype=torch.float32)
    _kernel[(rows,)](logits, targets, losses, vocabulary, scale, block=BLOCK, num_warps=WARPS)
    return losses
