"""Parts of the CPU's LSTM that whole sentences do not show."""

import pytest
import torch
from torch import Tensor

from elmokit.engine.cpu import lstm
from elmokit.engine.cpu.lstm import KeptTable


def doubled(words: Tensor) -> Tensor:
    return torch.cat([words, -words], dim=1)


@pytest.mark.parametrize("words_per_product", [1, 3, 256])
def test_a_table_has_a_row_for_each_word(
    monkeypatch: pytest.MonkeyPatch, words_per_product: int
) -> None:
    """Whatever was in it before, and in however many parts it is filled."""
    monkeypatch.setattr(lstm, "WORDS_PER_PRODUCT", words_per_product)
    table = KeptTable()
    for count in (5, 2, 7, 1):
        for dtype in (torch.float32, torch.bfloat16):
            words = torch.randn(count, 4).to(dtype)
            found = table.filled(doubled, words)
            assert found.dtype == dtype
            assert torch.equal(found, doubled(words))


def test_a_table_of_the_same_size_takes_no_new_memory() -> None:
    table = KeptTable()
    first = table.filled(doubled, torch.randn(8, 4))
    second = table.filled(doubled, torch.randn(6, 4))
    assert second.data_ptr() == first.data_ptr()
