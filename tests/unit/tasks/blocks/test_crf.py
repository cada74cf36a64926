"""The CRF against all paths, counted one by one."""

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from elmokit.tasks.blocks.crf import CRF, _in_halves, _token_by_token

TAGS = ["O", "B-X", "I-X", "E-X", "S-X"]


def random_crf(seed: int) -> CRF:
    torch.manual_seed(seed)
    crf = CRF(TAGS)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf


def allowed_paths(crf: CRF, length: int) -> list[tuple[int, ...]]:
    paths = []
    for path in product(range(len(TAGS)), repeat=length):
        steps = pairwise(path)
        if (
            crf.may_start[path[0]]
            and crf.may_end[path[-1]]
            and all(crf.may_follow[a, b] for a, b in steps)
        ):
            paths.append(path)
    return paths


def path_score(crf: CRF, scores: Tensor, path: tuple[int, ...]) -> Tensor:
    total = crf.starts[path[0]] + crf.ends[path[-1]]
    for place, tag in enumerate(path):
        total = total + scores[place, tag]
    for before, after in pairwise(path):
        total = total + crf.transitions[before, after]
    return total


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_losses_and_best_paths_equal_those_over_all_paths(length: int) -> None:
    crf = random_crf(length)
    scores = 3 * torch.randn(length, len(TAGS))
    paths = allowed_paths(crf, length)
    all_scores = torch.stack([path_score(crf, scores, path) for path in paths])
    mask = torch.ones(1, length, dtype=torch.bool)
    for path in paths[:: max(1, len(paths) // 5)]:
        expected = all_scores.logsumexp(0) - path_score(crf, scores, path)
        found = crf.losses(scores[None], torch.tensor([path]), mask)
        # Sums of a few float32 numbers of size 10.
        torch.testing.assert_close(found[0], expected, atol=1e-5, rtol=1e-5)
    best = paths[int(all_scores.argmax())]
    assert crf.decode(scores[None], mask).tolist() == [list(best)]


def test_padding_and_neighbours_change_nothing() -> None:
    crf = random_crf(0)
    scores = torch.randn(3, 9, len(TAGS))
    tags = torch.zeros(3, 9, dtype=torch.long)
    lengths = torch.tensor([9, 4, 1])
    mask = torch.arange(9) < lengths[:, None]
    together = crf.losses(scores, torch.where(mask, tags, -1), mask)
    for row, length in enumerate(lengths.tolist()):
        alone = crf.losses(
            scores[row : row + 1, :length],
            tags[row : row + 1, :length],
            mask[row : row + 1, :length],
        )
        torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=1e-5)
        path = crf.decode(scores[row : row + 1, :length], mask[row : row + 1, :length])
        assert crf.decode(scores, mask)[row, :length].tolist() == path[0].tolist()


def test_large_scores_stay_finite() -> None:
    crf = random_crf(2)
    scores = 100 * torch.randn(4, 30, len(TAGS))
    mask = torch.ones(4, 30, dtype=torch.bool)
    best = crf.decode(scores, mask)
    losses = crf.losses(scores, best, mask)
    assert torch.isfinite(losses).all()
    assert (losses < 1.0).all()
    assert (losses > -1e-2).all()


@pytest.mark.parametrize("length", [1, 2, 3, 8, 13])
def test_joining_halves_gives_the_sums_and_gradients_of_token_by_token(length: int) -> None:
    transitions = random_crf(3)._constrained()[0].detach().requires_grad_()
    first = torch.randn(4, len(TAGS), requires_grad=True)
    scores = (3 * torch.randn(4, length - 1, len(TAGS))).requires_grad_()
    mask = torch.arange(1, length) < torch.tensor([[length], [length // 2], [1], [length - 1]])
    found, expected = (
        way(first, scores, mask, transitions) for way in (_in_halves, _token_by_token)
    )
    # Float32 sums of a few dozen numbers in another order.
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)
    inputs = [first, scores, transitions] if length > 1 else [first]
    weights = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad((found * weights).sum(), inputs),
        torch.autograd.grad((expected * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
