"""Which examples make a batch: a function of seed and epoch, texts of like length together."""

import numpy as np
import numpy.typing as npt

# So many batches are drawn at random and then sorted among themselves by length.
BATCHES_SORTED_TOGETHER = 50


def epoch_batches(
    sizes: npt.NDArray[np.int64], *, batch_size: int, seed: int, epoch: int
) -> list[npt.NDArray[np.int64]]:
    """Give the examples of each batch of an epoch; ``sizes`` are their lengths in tokens."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(sizes))
    pool = batch_size * BATCHES_SORTED_TOGETHER
    batches = []
    for first in range(0, len(order), pool):
        drawn = order[first : first + pool]
        drawn = drawn[np.argsort(sizes[drawn], kind="stable")]
        batches += np.split(drawn, range(batch_size, len(drawn), batch_size))
    return [batches[number] for number in random.permutation(len(batches))]


def sorted_batches(
    sizes: npt.NDArray[np.int64], *, tokens: int, most: int
) -> list[npt.NDArray[np.int64]]:
    """Cut all examples, the longest first, into batches of at most ``tokens`` with padding.

    A batch has ``most`` examples at most, and one in any case.
    """
    order = np.argsort(-sizes, kind="stable")
    batches = []
    first = 0
    while first < len(order):
        count = min(most, max(1, tokens // max(1, int(sizes[order[first]]))))
        batches.append(order[first : first + count])
        first += count
    return batches
