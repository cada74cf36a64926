"""The token encoder with frozen weights: all filters as one product, no work on padding.

It computes what `nn.TokenEncoder` computes. A word is followed by padding up to the length of a
row, and all windows that lie in the padding are equal, so one of them stands for all. A narrow
filter is a wide one whose last weights are zero; the widest filters are most of them, so that
costs a sixth more than leaving the zeros out, in one product instead of seven.

N words, C characters in a row, E character embedding, F filters, W the widest filter
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from elmokit.engine.transfer import to_device
from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.highway import HighwayLayer
from elmokit.nn.token_encoder import TokenEncoder
from elmokit.text.token_indexer import TokenIndexer

Product = Callable[[Tensor], Tensor]
"""Rows times a frozen weight, plus a bias."""
ProductMaker = Callable[[Tensor, Tensor | None], Product]
"""Makes a product of a weight (O, I) and a bias (O,)."""


class FrozenWordEncoder:
    """Words to vectors, in float32.

    Words of up to so many characters as one of ``group_lengths`` go through the filters together,
    ``windows_at_once`` at a time.
    """

    def __init__(
        self,
        encoder: TokenEncoder,
        indexer: TokenIndexer,
        *,
        product_with: ProductMaker,
        group_lengths: Sequence[int],
        windows_at_once: int,
    ) -> None:
        self._encoder = encoder
        self._indexer = indexer
        self._device = next(encoder.parameters()).device
        self._filters: Filters | None = None
        if encoder.characters is not None:
            self._filters = Filters(
                encoder.characters,
                product_with=product_with,
                group_lengths=group_lengths,
                windows_at_once=windows_at_once,
            )
        self._projection: Product | None = None
        if encoder.projection is not None:
            self._projection = product_with(encoder.projection.weight, encoder.projection.bias)

    def __call__(self, words: Sequence[str]) -> Tensor:
        """Give the vectors (N, P) of words."""
        ids = self._indexer.ids(words)
        features = []
        if self._encoder.words is not None:
            assert ids.words is not None
            features.append(self._encoder.words(to_device(ids.words, self._device)))
        if self._filters is not None:
            assert ids.characters is not None
            features.append(self._filters(torch.from_numpy(ids.characters)))
        vectors = features[0] if len(features) == 1 else torch.cat(features, dim=1)
        return vectors if self._projection is None else self._projection(vectors)


class Filters:
    """The character CNN: embedding, convolutions, maximum, activation, highway layers."""

    def __init__(
        self,
        characters: CharacterCNN,
        *,
        product_with: ProductMaker,
        group_lengths: Sequence[int],
        windows_at_once: int,
    ) -> None:
        self._characters = characters
        self._group_lengths = group_lengths
        self._windows_at_once = windows_at_once
        self._embedding = characters.embedding.weight  # (alphabet, E)
        convolutions = [cast(nn.Conv1d, layer) for layer in characters.convolutions]
        self._widest = max(layer.kernel_size[0] for layer in convolutions)
        size = self._embedding.shape[1]
        weight = self._embedding.new_zeros(characters.output_dim, self._widest, size)  # (F, W, E)
        first = 0
        for layer in convolutions:
            end = first + layer.out_channels
            weight[first:end, : layer.kernel_size[0]] = layer.weight.transpose(1, 2)
            first = end
        self._product = product_with(weight.flatten(1), None)
        self._each = [
            (layer.kernel_size[0], product_with(layer.weight.flatten(1), None))
            for layer in convolutions
        ]
        self._bias = torch.cat([cast(Tensor, layer.bias) for layer in convolutions])  # (F,)
        self._highway = [
            _Highway(cast(HighwayLayer, layer), product_with) for layer in characters.highway
        ]

    def __call__(self, rows: Tensor) -> Tensor:
        """Map character ids (N, C), on the CPU, to features (N, F) on the encoder's device."""
        lengths = _lengths(rows)
        groups, pooled = [], []
        at_least = 0
        for length in self._group_lengths:
            if length + self._widest > rows.shape[1]:
                break
            group = ((lengths > at_least) & (lengths <= length)).nonzero()[:, 0]
            if len(group):
                # Windows begin at each character, and one in the padding behind them.
                groups.append(group)
                pooled.append(self._pooled(self._here(rows[group, : length + self._widest])))
            at_least = length
        rest = (lengths > at_least).nonzero()[:, 0]
        if len(rest):
            groups.append(rest)
            pooled.append(self._pooled_exactly(self._here(rows[rest])))
        features = torch.cat(pooled)[self._here(torch.cat(groups).argsort())]
        features.relu_() if self._characters.activation == "relu" else features.tanh_()
        for layer in self._highway:
            features = layer(features)
        return features

    def _here(self, numbers: Tensor) -> Tensor:
        return to_device(numbers.numpy(), self._embedding.device)

    def _pooled(self, rows: Tensor) -> Tensor:
        """Give the largest score of each filter for rows that end in padding."""
        windows = rows.shape[1] - self._widest + 1
        pooled = []
        for some in torch.split(rows, max(1, self._windows_at_once // windows)):
            spelled = self._embedding[some].flatten(1)  # (n, C * E)
            size = self._embedding.shape[1]
            cut = spelled.unfold(1, self._widest * size, size)  # (n, windows, W * E)
            scores = self._product(cut.flatten(0, 1))  # (n * windows, F)
            pooled.append(scores.view(len(some), windows, -1).amax(dim=1))
        return torch.cat(pooled).add_(self._bias)

    def _pooled_exactly(self, rows: Tensor) -> Tensor:
        """The same for rows that may be full, where narrow filters fit once more at the end."""
        embedded = self._embedding[rows]  # (N, C, E)
        pooled = []
        for width, product in self._each:
            windows = embedded.unfold(1, width, 1).flatten(2)  # (N, positions, E * width)
            scores = product(windows.flatten(0, 1))
            pooled.append(scores.view(*windows.shape[:2], -1).amax(dim=1))
        return torch.cat(pooled, dim=1).add_(self._bias)


class _Highway:
    """`nn.HighwayLayer` with both of its products as one."""

    def __init__(self, layer: HighwayLayer, product_with: ProductMaker) -> None:
        weight = torch.cat([layer.transform.weight, layer.gate.weight])
        bias = torch.cat([layer.transform.bias, layer.gate.bias])
        self._product = product_with(weight, bias)

    def __call__(self, inputs: Tensor) -> Tensor:
        transformed, gate = self._product(inputs).chunk(2, dim=1)
        return torch.lerp(inputs, transformed.relu_(), gate.sigmoid_())


def _lengths(rows: Tensor) -> Tensor:
    """Count the characters of each row up to its padding: the equal ones at its end."""
    last = rows[:, -1:]
    differs = (rows != last).to(torch.int16)
    return (differs * torch.arange(1, rows.shape[1] + 1, dtype=torch.int16)).amax(dim=1).long()
