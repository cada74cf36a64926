"""Token vectors before context, computed once per distinct word and kept within bounds.

N words asked for, U distinct ones among them, P size of a token vector
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.engine.transfer import to_device
from elmokit.engine.undisturbed import undisturbed
from elmokit.nn.token_encoder import TokenEncoder
from elmokit.text.token_indexer import TokenIndexer

DEFAULT_CAPACITY_BYTES = 256 * 2**20
# About what Python needs for a word beside its vector: the string, its slot, their tables.
BYTES_PER_WORD = 200
# The convolutions of one word of the original model need about 0.4 MB.
WORDS_AT_ONCE = 512


class LookedUp(NamedTuple):
    """Where the vectors of some words are."""

    table: Tensor
    """(slots, P); the next call may overwrite it."""
    rows: npt.NDArray[np.int64]
    """(U,): the row in the table of each distinct word."""
    numbers: npt.NDArray[np.int64]
    """(N,): which of the distinct words each word is."""


class WordVectors:
    """A bounded cache in front of a frozen token encoder; the least recently used words go first.

    ``hits`` and ``misses`` count distinct words per request.
    """

    def __init__(
        self,
        token_encoder: TokenEncoder,
        indexer: TokenIndexer,
        *,
        compute: Callable[[Sequence[str]], Tensor] | None = None,
        words_at_once: int = WORDS_AT_ONCE,
        capacity_bytes: int = DEFAULT_CAPACITY_BYTES,
    ) -> None:
        """``compute`` is a faster way to the encoder's vectors of up to ``words_at_once``."""
        self._token_encoder = token_encoder
        self._indexer = indexer
        self._compute = compute or self._encode
        self._words_at_once = words_at_once
        self._capacity_bytes = capacity_bytes
        self.hits = 0
        self.misses = 0
        self.clear()

    def clear(self) -> None:
        """Forget all words, for instance because the encoder's weights have changed."""
        self._slots: dict[str, int] = {}
        self._words: list[str] = []  # the word in each slot
        self._table: Tensor | None = None  # (slots, P)
        self._last_use = np.zeros(0, dtype=np.int64)  # (slots,)
        self._requests = 0

    def __len__(self) -> int:
        return len(self._slots)

    def known(self) -> tuple[list[str], Tensor]:
        """Give all words that are kept, those used last at the end, and their vectors (N, P)."""
        if self._table is None:
            return [], self.compute([])
        order = np.argsort(self._last_use[: len(self)], kind="stable")
        return [self._words[slot] for slot in order], self._table[torch.from_numpy(order)]

    def learn(self, words: Sequence[str], vectors: Tensor) -> None:
        """Keep vectors (N, P) that were computed before, as many as there is room for."""
        weight = next(self._token_encoder.parameters())
        new = [place for place, word in enumerate(words) if word not in self._slots]
        new = new[-self._capacity() :] if self._capacity() else []
        if new:
            chosen = vectors[torch.tensor(new)].to(weight.device, weight.dtype)
            self._insert([words[place] for place in new], chosen)

    def __call__(self, words: Sequence[str]) -> Tensor:
        """Give the vectors (N, P) of words."""
        table, rows, numbers = self.look_up(words)
        return table[to_device(rows[numbers], table.device)]

    def look_up(self, words: Sequence[str]) -> LookedUp:
        """Find the vectors of words, computing those that are not known."""
        # What is kept must outlive the caller's inference mode and must not depend on its autocast.
        with undisturbed(next(self._token_encoder.parameters())):
            return self._look_up(words)

    def _look_up(self, words: Sequence[str]) -> LookedUp:
        self._forget_if_the_encoder_moved()
        self._requests += 1
        try:
            slots = self._slots_of(words)
        except KeyError:
            distinct = list(dict.fromkeys(words))
            missing = [word for word in distinct if word not in self._slots]
            self.misses += len(missing)
            if len(distinct) > self._capacity():
                self.hits += len(distinct) - len(missing)
                return self._computed(words, distinct)
            for word in distinct:  # so that they keep their slots
                if word in self._slots:
                    self._last_use[self._slots[word]] = self._requests
            self._insert(missing, self.compute(missing))
            self.hits -= len(missing)
            slots = self._slots_of(words)
        if self._table is None:
            return self._computed(words, words)
        rows, numbers = _distinct(slots, len(self._table))
        self._last_use[rows] = self._requests
        self.hits += len(rows)
        return LookedUp(self._table, rows, numbers)

    def _slots_of(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.fromiter(map(self._slots.__getitem__, words), np.int64, len(words))

    def _computed(self, words: Sequence[str], distinct: Sequence[str]) -> LookedUp:
        numbers = {word: number for number, word in enumerate(distinct)}
        return LookedUp(
            self.compute(distinct),
            np.arange(len(distinct)),
            np.array([numbers[word] for word in words], dtype=np.int64),
        )

    def compute(self, words: Sequence[str]) -> Tensor:
        """Run the token encoder on ``words``, in portions."""
        if not words:
            weight = next(self._token_encoder.parameters())
            return weight.new_zeros(0, self._token_encoder.output_dim)
        return torch.cat(
            [
                self._compute(words[first : first + self._words_at_once])
                for first in range(0, len(words), self._words_at_once)
            ]
        )

    def _encode(self, words: Sequence[str]) -> Tensor:
        device = next(self._token_encoder.parameters()).device
        ids = self._indexer.ids(words)
        vectors: Tensor = self._token_encoder(
            *(part if part is None else to_device(part, device) for part in ids)
        )
        return vectors

    def _capacity(self) -> int:
        weight = next(self._token_encoder.parameters())
        vector = self._token_encoder.output_dim * weight.element_size()
        return self._capacity_bytes // (vector + BYTES_PER_WORD)

    def _forget_if_the_encoder_moved(self) -> None:
        weight = next(self._token_encoder.parameters())
        if self._table is not None and (self._table.device, self._table.dtype) != (
            weight.device,
            weight.dtype,
        ):
            self.clear()

    def _insert(self, words: Sequence[str], vectors: Tensor) -> None:
        """Give new words slots: free ones first, then those of the words used longest ago."""
        capacity, used = self._capacity(), len(self._slots)
        self._reserve(min(used + len(words), capacity), capacity, vectors)
        assert self._table is not None
        appended = min(len(words), capacity - used)
        slots = np.arange(used, used + appended)
        if appended < len(words):
            wanted = len(words) - appended
            oldest = np.argpartition(self._last_use[:used], wanted - 1)[:wanted]
            for slot in oldest:
                del self._slots[self._words[slot]]
            slots = np.concatenate([slots, oldest])
        self._words.extend([""] * appended)
        for word, slot in zip(words, slots.tolist(), strict=True):
            self._slots[word] = slot
            self._words[slot] = word
        self._last_use[slots] = self._requests
        self._table[to_device(slots, vectors.device)] = vectors

    def _reserve(self, count: int, capacity: int, like: Tensor) -> None:
        """Grow the table to at least ``count`` slots, doubling so that growth stays cheap."""
        held = len(self._last_use)
        if count <= held:
            return
        table = like.new_empty(min(max(count, 2 * held, 1024), capacity), like.shape[1])
        if self._table is not None:
            table[:held] = self._table
        self._table = table
        self._last_use = np.concatenate([self._last_use, np.zeros(len(table) - held, np.int64)])


def _distinct(
    values: npt.NDArray[np.int64], limit: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give the distinct values below ``limit`` and which of them each value is, without sorting."""
    is_there = np.zeros(limit, dtype=bool)
    is_there[values] = True
    distinct = np.flatnonzero(is_there)
    numbers = np.empty(limit, dtype=np.int64)
    numbers[distinct] = np.arange(len(distinct))
    return distinct, numbers[values]
