import pytest
import torch

from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.squad.spans import best_spans


@pytest.mark.parametrize("longest", [1, 2, 5, 40])
def test_it_finds_what_looking_at_all_spans_finds(longest: int) -> None:
    torch.manual_seed(longest)
    lengths = [1, 2, 7, 12]
    starts, ends = torch.randn(2, len(lengths), max(lengths)).mul(3)
    padding = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    starts[padding] = VERY_LOW
    ends[padding] = VERY_LOW
    found = best_spans(starts, ends, longest=longest)
    for row, length in enumerate(lengths):
        p, q = starts[row, :length].softmax(0), ends[row, :length].softmax(0)
        score, first, last = max(
            ((p[i] * q[j]).item(), i, j)
            for i in range(length)
            for j in range(i, min(length, i + longest))
        )
        assert (found[row].first, found[row].last) == (first, last)
        assert found[row].score == pytest.approx(score, rel=1e-4)


def test_an_end_never_comes_before_its_start() -> None:
    starts = torch.tensor([[0.0, 0.0, 9.0]])
    ends = torch.tensor([[5.0, 0.0, 0.0]])
    ((first, last, _),) = best_spans(starts, ends, longest=3)
    assert (first, last) == (2, 2)
