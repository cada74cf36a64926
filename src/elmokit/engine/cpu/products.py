"""Products with a frozen matrix on a CPU, in three precisions, its weights packed once.

oneDNN lays weights out for its kernels; `torch.nn.Linear` has that done anew in every call. A
row's result is the same to the bit for any number of rows but one, for which oneDNN sums in
another order: so a lone row goes through with a second one.

B rows, I inputs, O outputs
"""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.engine.cpu.int8_products import LIKELY_ROWS, FineProduct, ScaledProduct
from elmokit.errors import InputError

# oneDNN keeps a kernel of its own, some hundreds of kilobytes, for each number of rows. Products
# of any number of rows are padded to a multiple of this; those of a step, whose results are large
# and whose numbers of rows are few, are not.
ROWS_TOGETHER = 32


class Product(Protocol):
    """Rows times a frozen weight (O, I), plus a bias."""

    def __call__(self, rows: Tensor) -> Tensor:
        """Give (B, O), in float32 or narrower."""
        ...

    def added_to(self, other: Tensor, rows: Tensor) -> Tensor:
        """Give ``other`` (B, O) plus the product in float32, in memory of its own."""
        ...


class FloatProduct:
    """Products in float32 or bfloat16; sums are made in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None, *, dtype: torch.dtype) -> None:
        self._dtype = dtype
        weight = weight.to(dtype).contiguous()
        self._bias = None if bias is None else bias.to(dtype)
        self._is_packed = is_packable(dtype)
        self._weight = (
            torch.ops.mkldnn._reorder_linear_weight(weight, LIKELY_ROWS)
            if self._is_packed
            else weight
        )

    def __call__(self, rows: Tensor) -> Tensor:
        """See `Product`."""
        rows = rows.to(self._dtype)
        return self._product(_twice(rows))[:1] if len(rows) == 1 else self._product(rows)

    def added_to(self, other: Tensor, rows: Tensor) -> Tensor:
        """See `Product`."""
        if not self._is_packed:
            return self(rows).float() + other
        if len(rows) == 1:
            return self.added_to(_twice(other), _twice(rows))[:1]
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(
            rows.to(self._dtype), other, self._weight, self._bias, "add"
        )
        return total.float()

    def _product(self, rows: Tensor) -> Tensor:
        if self._is_packed:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(
                rows, self._weight, self._bias, "none", [], ""
            )
            return product
        return F.linear(rows, self._weight, self._bias)


def rounded_product_with(
    weight: Tensor, bias: Tensor | None, *, dtype: str
) -> Callable[[Tensor], Tensor]:
    """Make a product for any number of rows, many of which share a kernel."""
    product = product_with(weight, bias, dtype=dtype)

    def rounded(rows: Tensor) -> Tensor:
        missing = -len(rows) % ROWS_TOGETHER
        return product(F.pad(rows, (0, 0, 0, missing)))[: len(rows)] if missing else product(rows)

    return rounded


def product_with(weight: Tensor, bias: Tensor | None, *, dtype: str) -> Product:
    """Make the product of a precision: ``float32``, ``bfloat16`` or ``int8``."""
    if dtype != "int8":
        return FloatProduct(weight, bias, dtype=getattr(torch, dtype))
    _check_int8()
    return ScaledProduct(weight, bias)


def projection_with(weight: Tensor, *, dtype: str) -> Product:
    """Make the product of a precision for rows of numbers from -1 to 1."""
    if dtype != "int8":
        return FloatProduct(weight, None, dtype=getattr(torch, dtype))
    # Outputs of cells in 8 bits have a hundred times the errors of all other products (cosines
    # of 0.995 in place of 0.9999).
    _check_int8()
    return FineProduct(weight)


def _check_int8() -> None:
    if not (_has_onednn() and hasattr(torch.ops.onednn, "qlinear_prepack")):
        raise InputError(
            "dtype: this build of torch has no products of 8-bit numbers; use 'float32' or "
            "'bfloat16', found 'int8'"
        )


def is_packable(dtype: torch.dtype) -> bool:
    """Whether this build of torch and this CPU have packed products of a type."""
    if not (_has_onednn() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    return dtype == torch.float32 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _has_onednn() -> bool:
    return bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def _twice(row: Tensor) -> Tensor:
    return row.expand(2, -1).contiguous()
