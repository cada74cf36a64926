"""GloVe: vectors whose products are the logarithms of co-occurrence counts.

No maintained library trains it (the authors' C programs and a few abandoned packages aside), so
here is the objective of Pennington, Socher and Manning (2014), equation 8, by AdaGrad in batches.

V words, D size of a vector, N pairs, B pairs of a batch
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.baselines.cooccurrences import Cooccurrences, Ids, count_cooccurrences
from elmokit.baselines.corpus_text import stream_pieces, train_split, word_counts
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.corpus.layout import BEGIN, MARKS
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.errors import InputError

DEFAULT_BATCH_SIZE = 4096
# The authors' program begins AdaGrad's sums of squares with 1, and so do we.
_FIRST_SQUARES = 1.0


class GloVe(NamedTuple):
    """Two vectors and two biases a word: as the centre and as the context.

    A row of ``centres`` is its vector, its bias and 1, a row of ``contexts`` its vector, 1 and its
    bias, so that the product of two rows is all that is compared with the logarithm of a count.
    """

    centres: Tensor
    """(V, D + 2)"""
    contexts: Tensor
    """(V, D + 2)"""

    @property
    def vectors(self) -> Tensor:
        """The sum of both vectors of every word (V, D), which the paper uses."""
        return (self.centres + self.contexts)[:, :-2]


class Gradients(NamedTuple):
    """The loss of each pair, and what moves the rows of its two words."""

    losses: Tensor
    """(B,) half the weighted square."""
    centres: Tensor
    """(B, D + 2), 0 where a row holds its 1."""
    contexts: Tensor
    """(B, D + 2), 0 where a row holds its 1."""


def started(*, vocabulary_size: int, dim: int, seed: int) -> GloVe:
    """Give small random vectors and biases."""
    generator = torch.Generator().manual_seed(seed)
    tables = torch.rand(2, vocabulary_size, dim + 2, generator=generator).sub_(0.5).div_(dim)
    tables[0, :, -1] = 1.0
    tables[1, :, -2] = 1.0
    return GloVe(tables[0], tables[1])


def gradients(
    centres: Tensor, contexts: Tensor, counts: Tensor, *, most: float, power: float
) -> Gradients:
    """Give losses and gradients of B pairs by their rows (B, D + 2) and counts (B,).

    A pair that counts x weighs ``min(x / most, 1) ** power``.
    """
    errors = (centres * contexts).sum(dim=1) - counts.log()  # (B,)
    slopes = (counts / most).clamp(max=1) ** power * errors
    of_centres = slopes[:, None] * contexts
    of_contexts = slopes[:, None] * centres
    of_centres[:, -1] = 0.0
    of_contexts[:, -2] = 0.0
    return Gradients(0.5 * slopes * errors, of_centres, of_contexts)


def train_glove(
    corpus: PreparedCorpus,
    *,
    dim: int,
    window: int,
    epochs: int,
    min_count: int,
    seed: int,
    most: float = 10.0,
    power: float = 0.75,
    learning_rate: float = 0.05,
    batch_size: int = DEFAULT_BATCH_SIZE,
    progress: Callable[[int, float], object] | None = None,
) -> StaticVectors:
    """Learn vectors of the words that occur ``min_count`` times.

    ``most`` is the count from which pairs weigh the same; the paper has 100 for billions of words,
    its authors' demonstration 10 for 17 million. ``progress`` is told of every epoch its number and
    the mean loss of a pair.
    """
    counts = word_counts(corpus)
    kept = np.flatnonzero(counts >= min_count)
    kept = kept[kept >= len(MARKS)]
    if not len(kept):
        raise InputError(f"min_count: no word of the corpus occurs {min_count} times")
    place_of = np.full(len(counts), -2, dtype=np.int64)  # -2: left out
    place_of[kept] = np.arange(len(kept))
    place_of[BEGIN] = -1  # between sentences
    pairs = count_cooccurrences(
        _pieces(corpus, place_of), vocabulary_size=len(kept), window=window
    ).mirrored()
    if not len(pairs.weights):
        raise InputError("corpus: no two words of the vocabulary stand near each other")
    model = fit(
        pairs,
        vocabulary_size=len(kept),
        dim=dim,
        epochs=epochs,
        seed=seed,
        most=most,
        power=power,
        learning_rate=learning_rate,
        batch_size=batch_size,
        progress=progress,
    )
    return StaticVectors([corpus.words[place] for place in kept], model.vectors.numpy())


def fit(
    pairs: Cooccurrences,
    *,
    vocabulary_size: int,
    dim: int,
    epochs: int,
    seed: int,
    most: float,
    power: float,
    learning_rate: float,
    batch_size: int = DEFAULT_BATCH_SIZE,
    progress: Callable[[int, float], object] | None = None,
) -> GloVe:
    """Minimise the objective over pairs in both directions.

    As in the authors' program every pair adds the squares of its own gradient to AdaGrad's sums and
    takes its own step; here those of a batch do so at once.
    """
    model = started(vocabulary_size=vocabulary_size, dim=dim, seed=seed)
    squares = GloVe(*(torch.full_like(table, _FIRST_SQUARES) for table in model))
    first, second = torch.from_numpy(pairs.first), torch.from_numpy(pairs.second)  # (N,)
    counts = torch.from_numpy(pairs.weights).float()
    order = torch.Generator().manual_seed(seed + 1)
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.split(torch.randperm(len(counts), generator=order), batch_size):
            rows = first[batch], second[batch]
            found = gradients(
                model.centres[rows[0]],
                model.contexts[rows[1]],
                counts[batch],
                most=most,
                power=power,
            )
            for table, sums, places, gradient in zip(model, squares, rows, found[1:], strict=True):
                sums.index_add_(0, places, gradient**2)
                step = gradient / sums[places].sqrt_()
                table.index_add_(0, places, step, alpha=-learning_rate)
            total += float(found.losses.sum())
        if progress is not None:
            progress(epoch, total / len(counts))
    return model


def _pieces(corpus: PreparedCorpus, place_of: Ids) -> Iterator[Ids]:
    """Give the text as places of kept words, -1 between sentences, cut between sentences."""
    rest = np.empty(0, dtype=np.int64)
    for piece in stream_pieces(train_split(corpus)):
        places = place_of[piece]
        text = np.concatenate([rest, places[places != -2]])
        begins = np.flatnonzero(text == -1)
        cut = int(begins[-1]) if len(begins) else len(text)
        yield text[:cut]
        rest = text[cut:]
    yield rest
