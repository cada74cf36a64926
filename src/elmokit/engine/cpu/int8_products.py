"""Products with a frozen matrix of 8-bit numbers; each output has a scale of its own.

Scales of rows depend on the row alone or on nothing, so that what stands beside it does not
matter. Rows are shifted by 128 to be unsigned: oneDNN has fast kernels for unsigned rows and
signed weights only (signed rows were measured ten thousand times slower).

B rows, I inputs, O outputs
"""

import torch
from torch import Tensor

# What oneDNN is told to expect when it chooses a layout.
LIKELY_ROWS = 128
MIDDLE = 128
# Conversion cuts off what is behind the point, so adding this rounds.
SHIFT = MIDDLE + 0.5
LARGEST = 127
TINY = torch.finfo(torch.float32).tiny


class Weight:
    """A weight (O, I) in 8 bits, packed for oneDNN."""

    def __init__(self, weight: Tensor) -> None:
        scales = weight.abs().amax(dim=1).clamp_min(TINY) / LARGEST  # (O,)
        narrow = (weight / scales[:, None]).round().to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(narrow, [LIKELY_ROWS, weight.shape[1]])
        self._scales = scales
        self._zeros = torch.zeros(len(weight), dtype=torch.int32)

    def product(self, narrow: Tensor, scale: float = 1.0) -> Tensor:
        """Give ``scale`` times shifted rows (B, I), times the weight: (B, O)."""
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            *(narrow, scale, MIDDLE, self._weight, self._scales, self._zeros, None),
            *(1.0, 0, torch.float32, "none", [], ""),
        )
        return product


class ScaledProduct:
    """Rows of any size, each of which has a scale of its own."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = Weight(weight), bias

    def __call__(self, rows: Tensor) -> Tensor:
        """See `Product`."""
        product, scales = self._product(rows)
        if self._bias is None:
            return product.mul_(scales)
        return torch.addcmul(self._bias, product, scales, out=product)

    def added_to(self, other: Tensor, rows: Tensor) -> Tensor:
        """See `Product`."""
        product, scales = self._product(rows)
        torch.addcmul(other, product, scales, out=product)
        return product if self._bias is None else product.add_(self._bias)

    def _product(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Give the product (B, O) before the rows' scales (B, 1), and these."""
        rows = rows.float()
        scales = rows.abs().amax(dim=1, keepdim=True).clamp_min_(TINY).div_(LARGEST)
        narrow = (rows / scales).add_(SHIFT).to(torch.uint8)  # (B, I)
        return self._weight.product(narrow), scales


class FineProduct:
    """Rows of numbers from -1 to 1 in 16 bits: twice as many rows, of high bytes and of low ones.

    For rows that are mostly small with a few large numbers among them, which 8 bits are too few
    for.
    """

    def __init__(self, weight: Tensor) -> None:
        self._weight = Weight(weight)
        self._shift = torch.tensor(SHIFT)

    def __call__(self, rows: Tensor) -> Tensor:
        """See `Product`."""
        count = len(rows)
        shifted = torch.add(self._shift, rows, alpha=LARGEST)  # (B, I)
        narrow = torch.empty(2 * count, rows.shape[1], dtype=torch.uint8)
        narrow[:count] = shifted
        # What is behind the point was shifted by a half, and half of 256 is the low bytes' middle.
        narrow[count:] = shifted.frac_().mul_(256)
        product = self._weight.product(narrow, 1 / LARGEST)
        return product[:count].add_(product[count:], alpha=1 / 256)

    def added_to(self, other: Tensor, rows: Tensor) -> Tensor:
        """See `Product`."""
        return self(rows).add_(other)
