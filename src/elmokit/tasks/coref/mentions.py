"""How likely each span is a mention (Lee et al. 2017, section 3.1), all spans at once.

N tokens, W widest span, E size of an encoded token, D of an input vector, V of a width's vector,
H of a hidden layer
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from elmokit.tasks.blocks.joined_linear import JoinedLinear
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.coref.spans import SpanParts


class MentionScorer(nn.Module):
    """A feed-forward network over `span_vectors`, without making these.

    Its first layer is linear in the four parts of a span's vector, and tokens are far fewer than
    spans, so the tokens go through it and spans add up what came out.
    """

    def __init__(
        self,
        *,
        encoded_dim: int,
        input_dim: int,
        feature_dim: int,
        hidden_dim: int,
        hidden_layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.first_layer = JoinedLinear(
            input_dims=(encoded_dim, encoded_dim, input_dim, feature_dim), output_dim=hidden_dim
        )
        self.other_layers = scorer_layers(hidden_dim, hidden_layers, dropout)

    def forward(self, parts: SpanParts) -> Tensor:
        """Give the score of each span (N, W), very low for those that do not exist."""
        first, last, inside, widths = self.first_layer(
            parts.encoded, parts.encoded, parts.inputs, parts.widths
        )  # (N, H), (N, H), (N, H), (W, H)
        heads = torch.bmm(parts.head_weights.to(inside.dtype), embedding(parts.last, inside))
        hidden = heads + first[:, None, :] + embedding(parts.last, last) + widths  # (N, W, H)
        scores = self.other_layers(hidden)[:, :, 0].float()
        return torch.where(parts.exists, scores, VERY_LOW)


def scorer_layers(hidden_dim: int, hidden_layers: int, dropout: float) -> nn.Sequential:
    """Make what follows the first linear layer of a scorer, up to its one number."""
    layers: list[nn.Module] = []
    for layer in range(hidden_layers):
        if layer > 0:
            layers.append(nn.Linear(hidden_dim, hidden_dim))
        layers += [nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(hidden_dim, 1))
