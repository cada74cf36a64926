"""Ways through the tanh, and which one a model takes."""

import pytest
import torch

from elmokit.engine.cpu import cell_tanh
from elmokit.engine.cpu.cell_tanh import Tanh, by_onednn, by_sigmoid, tanh_for


@pytest.mark.parametrize(
    ("way", "most"), [(torch.tanh, 1e-7), (by_onednn, 1e-7), (by_sigmoid, 3e-7)]
)
def test_is_a_tanh(way: Tanh, most: float) -> None:
    """To a rounding of float32 at 1, or some of them by way of the sigmoid."""
    cell = torch.cat([torch.linspace(-9, 9, 4001), torch.tensor([0.0, 1e-30, -1e-4, 88.0, -88.0])])
    before = cell.clone()
    found = way(cell)
    assert found.double() == pytest.approx(cell.double().tanh(), abs=most)
    assert torch.equal(cell, before)
    assert found.data_ptr() != cell.data_ptr()


@pytest.mark.parametrize("way", [by_onednn, by_sigmoid])
@pytest.mark.parametrize("size", [32, 352, 2816])
def test_a_row_does_not_depend_on_the_others(way: Tanh, size: int) -> None:
    cell = torch.randn(9, size)
    together = way(cell)
    for rows in range(1, 9):
        assert torch.equal(way(cell[:rows]), together[:rows])


def test_depends_on_size_and_type_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tanh_for(1024, dtype="float32") is torch.tanh
    assert tanh_for(4096, dtype="float32") is by_onednn
    for dtype in ("bfloat16", "int8"):
        assert tanh_for(4096, dtype=dtype) is by_sigmoid
        assert tanh_for(24, dtype=dtype) is torch.tanh
    monkeypatch.setattr(cell_tanh, "is_packable", lambda dtype: False)
    assert tanh_for(4096, dtype="float32") is torch.tanh
