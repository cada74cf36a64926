"""Token vectors before context, computed once per distinct word and kept within bounds.

N words asked for, P size of a token vector
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from elmokit.nn.token_encoder import TokenEncoder
from elmokit.text.token_indexer import TokenIndexer

DEFAULT_CAPACITY_BYTES = 256 * 2**20
# The convolutions of one word of the original model need about 0.4 MB.
WORDS_PER_PRODUCT = 512


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
        capacity_bytes: int = DEFAULT_CAPACITY_BYTES,
    ) -> None:
        """``compute`` is a faster way to the encoder's vectors of some words."""
        self._token_encoder = token_encoder
        self._indexer = indexer
        self._compute = compute or self._encode
        self._capacity_bytes = capacity_bytes
        self.hits = 0
        self.misses = 0
        self.clear()

    def clear(self) -> None:
        """Forget all words, for instance because the encoder's weights have changed."""
        self._slots: dict[str, int] = {}  # in the order of last use
        self._table: Tensor | None = None  # (slots, P)

    def __len__(self) -> int:
        return len(self._slots)

    def known(self) -> tuple[list[str], Tensor]:
        """Give all words that are kept, those used last at the end, and their vectors (N, P)."""
        words = list(self._slots)
        if self._table is None:
            return words, self.compute([])
        return words, self._table[torch.tensor(list(self._slots.values()), dtype=torch.long)]

    def learn(self, words: Sequence[str], vectors: Tensor) -> None:
        """Keep vectors (N, P) that were computed before, as many as there is room for."""
        weight = next(self._token_encoder.parameters())
        capacity = self._capacity_bytes // (vectors.shape[1] * weight.element_size())
        new = [place for place, word in enumerate(words) if word not in self._slots][-capacity:]
        if new:
            chosen = vectors[torch.tensor(new)].to(weight.device, weight.dtype)
            self._insert([words[place] for place in new], chosen, capacity)

    def __call__(self, words: Sequence[str]) -> Tensor:
        """Give the vectors (N, P) of distinct words."""
        # What is kept must outlive the caller's inference mode and must not depend on its autocast.
        device_type = next(self._token_encoder.parameters()).device.type
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast(device_type, enabled=False),
        ):
            return self._look_up(words)

    def _look_up(self, words: Sequence[str]) -> Tensor:
        weight = next(self._token_encoder.parameters())
        width = self._token_encoder.output_dim * weight.element_size()
        capacity = self._capacity_bytes // width
        if self._table is not None and (self._table.device, self._table.dtype) != (
            weight.device,
            weight.dtype,
        ):
            self.clear()
        missing = list(dict.fromkeys(word for word in words if word not in self._slots))
        self.hits += len(words) - len(missing)
        self.misses += len(missing)
        if len(words) > capacity or not words:
            return self.compute(words)
        for word in words:  # mark as just used
            if word in self._slots:
                self._slots[word] = self._slots.pop(word)
        if missing:
            self._insert(missing, self.compute(missing), capacity)
        assert self._table is not None
        slots = torch.tensor([self._slots[word] for word in words])
        return self._table[slots.to(self._table.device)]

    def compute(self, words: Sequence[str]) -> Tensor:
        """Run the token encoder on ``words``, in portions."""
        if not words:
            weight = next(self._token_encoder.parameters())
            return weight.new_zeros(0, self._token_encoder.output_dim)
        return torch.cat(
            [
                self._compute(words[first : first + WORDS_PER_PRODUCT])
                for first in range(0, len(words), WORDS_PER_PRODUCT)
            ]
        )

    def _encode(self, words: Sequence[str]) -> Tensor:
        device = next(self._token_encoder.parameters()).device
        ids = self._indexer.ids(words)
        vectors: Tensor = self._token_encoder(
            *(part if part is None else torch.from_numpy(part).to(device) for part in ids)
        )
        return vectors

    def _insert(self, words: Sequence[str], vectors: Tensor, capacity: int) -> None:
        used = len(self._slots)
        self._reserve(min(used + len(words), capacity), capacity, vectors)
        assert self._table is not None
        slots = []
        for word in words:
            if len(self._slots) < capacity:
                slot = len(self._slots)
            else:
                slot = self._slots.pop(next(iter(self._slots)))
            self._slots[word] = slot
            slots.append(slot)
        self._table[torch.tensor(slots, device=vectors.device)] = vectors

    def _reserve(self, count: int, capacity: int, like: Tensor) -> None:
        """Grow the table to at least ``count`` slots, doubling so that growth stays cheap."""
        held = 0 if self._table is None else len(self._table)
        if count <= held:
            return
        table = like.new_empty(min(max(count, 2 * held, 1024), capacity), like.shape[1])
        if self._table is not None:
            table[:held] = self._table
        self._table = table
