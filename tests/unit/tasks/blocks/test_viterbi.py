"""Best paths against all paths, tried one by one."""

import itertools

import pytest
import torch
from torch import Tensor

from elmokit.tasks.blocks.viterbi import best_paths

TAGS = 3


def tried_out(
    scores: Tensor, length: int, transitions: Tensor, starts: Tensor, ends: Tensor
) -> list[int]:
    best, best_path = float("-inf"), [0] * length
    for path in itertools.product(range(TAGS), repeat=length):
        total = float(starts[path[0]] + ends[path[-1]])
        total += sum(float(scores[place, tag]) for place, tag in enumerate(path))
        total += sum(float(transitions[a, b]) for a, b in itertools.pairwise(path))
        if total > best:
            best, best_path = total, list(path)
    return best_path


@pytest.mark.parametrize("seed", range(5))
def test_equals_trying_all_paths(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = [5, 1, 3, 2]
    scores = torch.randn(4, 6, TAGS, generator=generator)
    transitions = torch.randn(TAGS, TAGS, generator=generator)
    transitions[1, 2] = -torch.inf
    starts, ends = torch.randn(2, TAGS, generator=generator)
    starts[2] = -torch.inf
    mask = torch.arange(6) < torch.tensor(lengths)[:, None]
    kept = scores.clone()
    paths = best_paths(scores, mask, transitions=transitions, starts=starts, ends=ends)
    for row, length in enumerate(lengths):
        expected = tried_out(scores[row], length, transitions, starts, ends)
        assert paths[row].tolist() == expected + [-1] * (6 - length)
        alone = best_paths(
            scores[row : row + 1], mask[row : row + 1],
            transitions=transitions, starts=starts, ends=ends,
        )  # fmt: skip
        assert torch.equal(alone[0], paths[row])
    assert torch.equal(scores, kept)


def test_a_text_without_tokens() -> None:
    zeros = torch.zeros(TAGS)
    rules = {"transitions": torch.zeros(TAGS, TAGS), "starts": zeros, "ends": zeros}
    mask = torch.tensor([[False, False], [True, False]])
    assert best_paths(torch.randn(2, 2, TAGS), mask, **rules)[0].tolist() == [-1, -1]
    assert best_paths(torch.randn(0, 4, TAGS), mask[:0, :0], **rules).shape == (0, 4)
    assert best_paths(torch.randn(2, 0, TAGS), mask[:, :0], **rules).shape == (2, 0)
