"""Packed products against a product in float64."""

import pytest
import torch
from torch import Tensor

from elmokit.engine.cpu import products
from elmokit.engine.cpu.products import ROWS_TOGETHER, product_with, rounded_product_with
from elmokit.errors import InputError

# Largest error in units of the result's spread: rounding of sums, of 8 and of 7 bits.
TOLERANCES = {"float32": 2e-6, "bfloat16": 2e-2, "int8": 4e-2}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product = rows.double() @ weight.double().t()
    return product if bias is None else product + bias


def error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.std())


@pytest.fixture(params=[True, False], ids=["packed", "plain"])
def is_packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(products, "is_packable", lambda dtype: False)
    return bool(request.param)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("rows", [1, 2, 7, 40])
@pytest.mark.parametrize("with_bias", [True, False])
def test_is_the_product(is_packed: bool, dtype: str, rows: int, with_bias: bool) -> None:
    del is_packed
    weight, given = drawn(48, 64, seed=1) / 8, drawn(rows, 64)
    bias = drawn(48, seed=2) if with_bias else None
    product = product_with(weight, bias, dtype=dtype)
    expected = exact(given, weight, bias)
    assert product(given).shape == (rows, 48)
    assert error(product(given), expected) < TOLERANCES[dtype]
    other = product(drawn(rows, 64, seed=3))
    before = other.clone()
    total = product.added_to(other, given)
    assert total.dtype == torch.float32
    assert error(total, expected + before.double()) < TOLERANCES[dtype]
    assert torch.equal(other, before), "what is added to stays as it is"
    total.zero_()
    assert torch.equal(other, before), "the sum has memory of its own"


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_row_does_not_depend_on_the_others(dtype: str) -> None:
    """Equal to 1e-6; rows of large numbers beside it would change a common scale."""
    product = product_with(drawn(96, 256, seed=1) / 16, None, dtype=dtype)
    rows = drawn(33, 256)
    rows[1:] *= 1000
    other = product(drawn(33, 256, seed=4))
    for count in (1, 2, 5, 16):
        torch.testing.assert_close(product(rows[:count])[0], product(rows)[0], atol=1e-6, rtol=0)
        torch.testing.assert_close(
            product.added_to(other[:count], rows[:count])[0],
            product.added_to(other, rows)[0],
            atol=1e-6,
            rtol=0,
        )


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_zeros(dtype: str) -> None:
    product = product_with(torch.zeros(8, 16), None, dtype=dtype)
    assert not product(torch.zeros(3, 16)).any()
    assert not product(drawn(3, 16)).any()


def test_eight_bits_are_refused_where_torch_has_no_such_products(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(products, "_has_onednn", lambda: False)
    with pytest.raises(InputError, match=r"dtype: .*found 'int8'"):
        product_with(torch.zeros(8, 16), None, dtype="int8")


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_rounded_products_are_the_same_to_the_bit_from_few_kernels(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight, bias = drawn(48, 64, seed=1), drawn(48, seed=2)
    plain = product_with(weight, bias, dtype=dtype)
    sizes = set()

    def counted(rows: torch.Tensor) -> torch.Tensor:
        sizes.add(len(rows))
        return plain(rows)

    monkeypatch.setattr(products, "product_with", lambda *_, **__: counted)
    rounded = rounded_product_with(weight, bias, dtype=dtype)
    rows = drawn(100, 64, seed=3)
    for count in range(1, 101):
        assert torch.equal(rounded(rows[:count]), plain(rows)[:count])
    assert sizes == {ROWS_TOGETHER, 2 * ROWS_TOGETHER, 3 * ROWS_TOGETHER, 4 * ROWS_TOGETHER}
