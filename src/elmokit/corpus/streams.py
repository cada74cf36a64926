"""Windows of text for stateful training: batch = f(seed, step), so any step can be made anew.

In an epoch each direction shuffles the documents for itself and joins them. The long text is
cut into as many equal pieces as there are rows, and each row reads its piece a window at a
time, the backward direction from the end. Nothing is left out: the last window of an epoch
reads on into the piece of the next row.

D directions (forward, backward), T steps, B rows
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.corpus.layout import BEGIN, END
from elmokit.corpus.prepared import Split
from elmokit.errors import InputError

FORWARD, BACKWARD = 0, 1

# A document longer than this is cut for shuffling, so that a corpus without blank lines is
# shuffled too.
LONGEST_BLOCK = 2**16

Ids = npt.NDArray[np.int64]


class Window(NamedTuple):
    """The next T tokens of every row in both directions, in each one's order of reading."""

    inputs: Ids
    """(D, T, B) ids of distinct words."""
    targets: Ids
    """(D, T, B) ids of the words to predict, not yet cut to the vocabulary."""
    resets: npt.NDArray[np.bool_]
    """(D, T, B): where a row forgets what it has read before it reads on."""


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How text is laid out for training."""

    rows: int
    """Rows of the global batch."""
    steps: int
    """Tokens of a row in a window: the reach of backpropagation."""
    seed: int = 0
    """Decides the order of documents and the resets."""
    document_resets: float = 0.0
    """Share of document starts at which a row forgets what it has read."""
    sentence_resets: float = 0.0
    """Share of sentence starts at which a row forgets what it has read."""


class Streams:
    """The windows of a split, by number."""

    def __init__(self, split: Split, settings: StreamSettings) -> None:
        self.tokens = split.tokens
        self.settings = settings
        if len(self.tokens) == 0:
            raise InputError("the corpus holds no text to train on")
        self._starts, self._begins_document = _blocks(split.documents, len(self.tokens))
        self._lengths = np.diff(np.append(self._starts, len(self.tokens)))
        self._orders: dict[tuple[int, int], tuple[Ids, Ids]] = {}

    @property
    def windows_per_epoch(self) -> int:
        """How many windows read the whole text once."""
        return -(-len(self.tokens) // (self.settings.rows * self.settings.steps))

    def window(self, number: int) -> Window:
        """Make the window with this number, counted over all epochs."""
        epoch, index = divmod(number, self.windows_per_epoch)
        parts = [
            self._direction(direction, epoch, index, number) for direction in (FORWARD, BACKWARD)
        ]
        inputs, targets, resets = (np.stack(arrays) for arrays in zip(*parts, strict=True))
        return Window(inputs, targets, resets)

    def _direction(self, direction: int, epoch: int, index: int, number: int) -> tuple[Any, ...]:
        settings, total = self.settings, len(self.tokens)
        row_starts = np.arange(settings.rows, dtype=np.int64) * total // settings.rows  # (B,)
        steps = np.arange(settings.steps, dtype=np.int64)[:, None]  # (T, 1)
        places = (row_starts + index * settings.steps + steps) % total  # (T, B)
        if direction == BACKWARD:
            places = total - 1 - places
        order, joined_starts = self._order(direction, epoch)
        slot = np.searchsorted(joined_starts, places.ravel(), side="right") - 1
        slot = slot.reshape(places.shape)
        block = order[slot]
        offset = places - joined_starts[slot]
        positions = self._starts[block] + offset  # (T, B) in the stored stream

        here = self.tokens.take(positions)
        following = self.tokens.take(np.minimum(positions + 1, total - 1))
        ends = (following == BEGIN) | (positions == total - 1)
        following[ends] = END
        if direction == FORWARD:
            inputs, targets = here, following
            sentence_starts = here == BEGIN
            document_starts = (offset == 0) & self._begins_document[block]
        else:
            inputs, targets = following, here
            sentence_starts = ends
            next_block = np.minimum(block + 1, len(self._starts) - 1)
            ends_document = self._begins_document[next_block] | (block == len(self._starts) - 1)
            document_starts = (offset == self._lengths[block] - 1) & ends_document
        generator = np.random.default_rng([settings.seed, direction, number])
        chance = generator.random((settings.steps, settings.rows), dtype=np.float32)
        resets = sentence_starts & (chance < settings.sentence_resets)
        resets |= document_starts & (chance < settings.document_resets)
        return inputs, targets, resets

    def _order(self, direction: int, epoch: int) -> tuple[Ids, Ids]:
        """Give the shuffled blocks and where each begins when they are joined."""
        key = (direction, epoch)
        if key not in self._orders:
            generator = np.random.default_rng([self.settings.seed, 2 + direction, epoch])
            order = generator.permutation(len(self._starts))
            starts = np.cumsum(self._lengths[order]) - self._lengths[order]
            kept = {known: value for known, value in self._orders.items() if known[1] >= epoch - 1}
            self._orders = {**kept, key: (order, starts)}
        return self._orders[key]


def _blocks(documents: Ids, total: int) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Cut documents into blocks of at most `LONGEST_BLOCK` ids; say which begin a document."""
    lengths = np.diff(np.append(documents, total))
    pieces = -(-lengths // LONGEST_BLOCK)
    owner = np.repeat(np.arange(len(documents)), pieces)
    piece = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return documents[owner] + piece * LONGEST_BLOCK, piece == 0


class DistinctWords:
    """Finds the distinct words of a window faster than sorting does."""

    def __init__(self, type_count: int) -> None:
        self._seen = np.zeros(type_count, dtype=bool)
        self._number = np.zeros(type_count, dtype=np.int64)

    def __call__(self, ids: Ids) -> tuple[Ids, Ids]:
        """Give the distinct ids (U,), rising, and for each id its place among them."""
        self._seen[ids] = True
        words = np.flatnonzero(self._seen)
        self._seen[words] = False
        self._number[words] = np.arange(len(words))
        return words, self._number[ids]
