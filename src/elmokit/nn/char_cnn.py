"""The character CNN: the spelling of a word to a vector (Kim et al. 2016).

N words, C characters in a row, E character embedding, F filters of all widths together
"""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.nn.highway import HighwayLayer


class CharacterCNN(nn.Module):
    """Character embedding, convolutions, maximum over positions, activation, highway layers.

    Padding characters are ordinary rows of the embedding and take part in the convolutions:
    the published models were trained that way.
    """

    def __init__(
        self,
        *,
        alphabet_size: int,
        embedding_dim: int,
        filters: Sequence[tuple[int, int]],
        activation: Literal["relu", "tanh"] = "relu",
        highway_layers: int = 0,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.embedding = nn.Embedding(alphabet_size, embedding_dim)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_dim, number, width) for width, number in filters
        )
        self.output_dim = sum(number for _, number in filters)
        self.highway = nn.ModuleList(
            HighwayLayer(dim=self.output_dim) for _ in range(highway_layers)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise as bilm-tf does."""
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            if self.activation == "relu":
                nn.init.uniform_(convolution.weight, -0.05, 0.05)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=fan_in**-0.5)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)

    def forward(self, character_ids: Tensor) -> Tensor:
        """Map character ids (N, C) to word features (N, F)."""
        embedded = self.embedding(character_ids)  # (N, C, E)
        pooled = [_convolve(embedded, convolution).amax(dim=1) for convolution in self.convolutions]
        features = torch.cat(pooled, dim=1)  # (N, F)
        features = features.relu() if self.activation == "relu" else features.tanh()
        for layer in self.highway:
            features = layer(features)
        return features


def _convolve(embedded: Tensor, convolution: nn.Module) -> Tensor:
    """Convolve (N, C, E) to (N, positions, filters) as one matrix product.

    It is faster than a convolution with so few channels, and its sums do not depend on N.
    """
    assert isinstance(convolution, nn.Conv1d)
    weight = convolution.weight.flatten(1)  # (filters, E * width)
    windows = embedded.unfold(1, convolution.kernel_size[0], 1).flatten(2)
    return F.linear(windows, weight, convolution.bias)
