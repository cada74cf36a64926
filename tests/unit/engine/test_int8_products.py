"""Products of rows in sixteen bits with a weight in eight, against float64."""

import torch
from torch import Tensor

from elmokit.engine.cpu.products import product_with, projection_with


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.std())


def mostly_small(rows: int) -> Tensor:
    """Draw rows from -1 to 1 in which one number is far larger than the others."""
    given = drawn(rows, 64) / 200
    given[:, 5] = 1.0
    return given.clamp(-1, 1)


def test_few_large_numbers_do_not_drown_the_small_ones() -> None:
    weight, given = drawn(48, 64, seed=1), mostly_small(7)
    weight[:, 5] = 0  # what is left is the small numbers' product
    expected = given.double() @ weight.double().t()
    assert error(projection_with(weight, dtype="int8")(given), expected) < 4e-2
    assert error(product_with(weight, None, dtype="int8")(given), expected) > 0.2


def test_the_ends_of_the_range_in_sixteen_bits() -> None:
    product = projection_with(torch.eye(3), dtype="int8")
    given = torch.tensor([[1.0, -1.0, 0.0]])
    torch.testing.assert_close(product(given), given, atol=1e-4, rtol=0)
    torch.testing.assert_close(product.added_to(given, given), 2 * given, atol=2e-4, rtol=0)


def test_a_row_does_not_depend_on_the_others() -> None:
    product = projection_with(drawn(96, 256, seed=1), dtype="int8")
    rows = drawn(33, 256).clamp(-1, 1)
    rows[:1] /= 100
    for count in (1, 2, 5, 16):
        assert torch.equal(product(rows[:count])[0], product(rows)[0])
