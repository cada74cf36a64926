"""The token encoder for training: each distinct word once, and no work on its padding.

It computes what `nn.TokenEncoder` computes. A word is followed by padding up to the length of
a row, and all windows of a filter that lie in the padding are equal, so one of them stands for
all: words go through the convolutions in groups of like length. The gradient of a maximum goes
to one window, not to every equal one; for the weights the sum is the same.

N words, C characters in a row, E character embedding, F filters of a width, U distinct words
"""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.token_encoder import TokenEncoder

# Characters of a row without its padding: words of up to so many go through together.
GROUP_LENGTHS = (10, 16)


def group_widths(encoder: TokenEncoder, row: int) -> list[tuple[int, int]]:
    """Give for each group the longest spelling in it and how much of a row it needs."""
    if encoder.characters is None:
        return [(row, row)]
    widest = max(cast(nn.Conv1d, c).kernel_size[0] for c in encoder.characters.convolutions)
    lengths = [length for length in GROUP_LENGTHS if length + widest < row]
    return [(length, length + widest) for length in lengths] + [(row, row)]


def encode_words(
    encoder: TokenEncoder, characters: list[Tensor] | None, word_ids: Tensor | None
) -> Tensor:
    """Give the vectors (U, P) of distinct words.

    ``characters`` are the words' rows (N, C) group by group, cut to the group's width.
    """
    features = []
    if encoder.words is not None:
        assert word_ids is not None
        features.append(encoder.words(word_ids))
    if encoder.characters is not None:
        assert characters is not None
        features.append(_character_features(encoder.characters, characters))
    vectors = features[0] if len(features) == 1 else torch.cat(features, dim=1)
    return vectors if encoder.projection is None else cast(Tensor, encoder.projection(vectors))


def _character_features(characters: CharacterCNN, groups: list[Tensor]) -> Tensor:
    pooled = []
    for rows in groups:
        if len(rows) == 0:
            continue
        embedded = characters.embedding(rows)  # (N, C, E)
        if torch.is_autocast_enabled(embedded.device.type):
            embedded = embedded.to(torch.get_autocast_dtype(embedded.device.type))
        widths = [
            pooled_convolution(embedded, cast(Tensor, c.weight), cast(Tensor, c.bias))
            for c in characters.convolutions
        ]
        pooled.append(torch.cat(widths, dim=1))
    features = torch.cat(pooled)
    features = features.relu() if characters.activation == "relu" else features.tanh()
    for layer in characters.highway:
        features = layer(features)
    return features


def pooled_convolution(embedded: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolve (N, C, E) with ``weight`` (F, E, width), give the maximum over positions (N, F)."""
    pooled = _PooledConvolution.apply(embedded, weight)  # type: ignore[no-untyped-call]
    return cast(Tensor, pooled + bias.to(embedded.dtype))


class _PooledConvolution(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, embedded: Tensor, weight: Tensor) -> Tensor:
        width = weight.shape[2]
        narrow = weight.to(embedded.dtype).flatten(1)  # (F, E * width)
        windows = embedded.unfold(1, width, 1).flatten(2)  # (N, positions, E * width)
        scores = F.linear(windows, narrow)  # (N, positions, F)
        pooled, places = scores.max(dim=1)  # (N, F)
        context.save_for_backward(windows, narrow, places)
        context.shapes = (embedded.shape, weight.shape)
        return pooled

    @staticmethod
    @once_differentiable
    def backward(context: Any, grad_pooled: Tensor) -> tuple[Tensor, Tensor]:
        windows, narrow, places = context.saved_tensors
        (words, characters, size), weight_shape = context.shapes
        positions, width = windows.shape[1], weight_shape[2]
        spread = windows.new_zeros(words, positions, len(narrow))  # (N, positions, F)
        spread.scatter_(1, places[:, None], grad_pooled[:, None].to(spread.dtype))
        grad_weight = spread.flatten(0, 1).t() @ windows.flatten(0, 1)
        grad_windows = (spread @ narrow).view(words, positions, size, width)
        grad_embedded = windows.new_zeros(words, characters, size)
        for place in range(width):
            grad_embedded[:, place : place + positions] += grad_windows[..., place]
        return grad_embedded, grad_weight.view(weight_shape).float()
