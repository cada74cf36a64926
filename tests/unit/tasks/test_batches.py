from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from elmokit.tasks.batches import BATCHES_SORTED_TOGETHER, epoch_batches, sorted_batches

Batches = list[npt.NDArray[np.int64]]


def some_sizes(count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(1).integers(1, 60, count)


def as_lists(batches: Batches) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize(
    ("count", "batch_size"), [(1, 8), (8, 8), (9, 8), (1000, 7), (5, 1), (49, 1), (51, 1)]
)
def test_an_epoch_has_every_example_once(count: int, batch_size: int) -> None:
    batches = epoch_batches(some_sizes(count), batch_size=batch_size, seed=3, epoch=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    assert len(batches) == -(-count // batch_size)
    sizes = sorted(map(len, batches))
    assert sizes[1:] == [batch_size] * (len(batches) - 1)  # one at most is smaller
    assert 0 < sizes[0] <= batch_size


def test_seed_and_epoch_decide() -> None:
    def drawn(seed: int, epoch: int) -> list[list[int]]:
        return as_lists(epoch_batches(some_sizes(100), batch_size=4, seed=seed, epoch=epoch))

    assert drawn(1, 2) == drawn(1, 2)
    assert drawn(1, 2) != drawn(1, 3)
    assert drawn(1, 2) != drawn(2, 2)
    assert drawn(1, 2) != drawn(2, 1)


def test_a_batch_has_texts_of_like_length() -> None:
    sizes = some_sizes(200)
    batches = epoch_batches(sizes, batch_size=10, seed=0, epoch=0)
    ranges = sorted((int(sizes[batch].min()), int(sizes[batch].max())) for batch in batches)
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_batches_come_in_any_order_of_length() -> None:
    sizes = np.arange(200)
    means = [float(sizes[b].mean()) for b in epoch_batches(sizes, batch_size=10, seed=0, epoch=0)]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)


def test_lengths_are_sorted_among_a_part_of_the_examples_only() -> None:
    # Else the longest would be together in every epoch.
    count = 4 * BATCHES_SORTED_TOGETHER
    together = [
        {frozenset(b.tolist()) for b in epoch_batches(np.arange(count), batch_size=2, seed=0,
                                                      epoch=epoch)}
        for epoch in (0, 1)
    ]  # fmt: skip
    assert len(together[0] & together[1]) < len(together[0]) / 2


@pytest.mark.parametrize(("tokens", "most"), [(100, 1000), (100, 3), (1, 1000), (10_000, 1)])
def test_sorted_batches_keep_both_limits(tokens: int, most: int) -> None:
    sizes = some_sizes(150)
    batches = sorted_batches(sizes, tokens=tokens, most=most)
    assert sorted(np.concatenate(batches).tolist()) == list(range(150))
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or len(batch) * sizes[batch].max() <= tokens
    for batch in batches[:-1]:  # none is smaller than it must be
        assert len(batch) == most or (len(batch) + 1) * sizes[batch].max() > tokens
    lengths = sizes[np.concatenate(batches)].tolist()
    assert lengths == sorted(lengths, reverse=True)


def test_a_text_longer_than_the_limit_is_alone() -> None:
    batches = sorted_batches(np.array([3, 50, 3, 4]), tokens=10, most=9)
    assert as_lists(batches) == [[1], [3, 0], [2]]


def test_texts_without_tokens() -> None:
    assert as_lists(sorted_batches(np.array([0, 0, 0]), tokens=2, most=9)) == [[0, 1], [2]]
    assert sorted_batches(np.array([], dtype=np.int64), tokens=2, most=9) == []
