"""How well each span goes with spans before it.

A cheap product compares all pairs and chooses which are compared closely (Lee et al. 2018,
section 4, without its higher-order part): ``s(i, j) = m(i) + m(j) + c(i, j) + a(i, j)``, with m
the mention scores, c the cheap and a the close comparison of ``[g_i; g_j; g_i * g_j; distance]``.

K spans in order of the text, A antecedents of each, P size of a span's vector, H of a hidden layer
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from elmokit.tasks.blocks.joined_linear import JoinedLinear
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.coref.mentions import scorer_layers

# Distances in spans are told apart as 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more.
DISTANCES = (1, 2, 3, 4, 5, 8, 16, 32, 64)


class Antecedents(NamedTuple):
    """The antecedents that are considered for each span."""

    scores: Tensor
    """(K, A): above 0 where the two go together; very low where there is no antecedent."""
    places: Tensor
    """(K, A): which span each of them is."""
    exists: Tensor
    """(K, A)."""


class AntecedentScorer(nn.Module):
    """Scores pairs of spans, few of them closely."""

    distances: Tensor

    def __init__(
        self,
        *,
        span_dim: int,
        antecedents: int,
        coarse_dim: int,
        feature_dim: int,
        hidden_dim: int,
        hidden_layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.antecedents = antecedents
        self.coarse_scale = coarse_dim**-0.5
        self.coarse_span = nn.Linear(span_dim, coarse_dim)
        self.coarse_antecedent = nn.Linear(span_dim, coarse_dim)
        self.distance_vectors = nn.Parameter(torch.empty(len(DISTANCES) + 1, feature_dim))
        nn.init.xavier_uniform_(self.distance_vectors)
        self.first_layer = JoinedLinear(
            input_dims=(span_dim, span_dim, span_dim, feature_dim), output_dim=hidden_dim
        )
        self.other_layers = scorer_layers(hidden_dim, hidden_layers, dropout)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("distances", torch.tensor(DISTANCES), persistent=False)

    def forward(self, vectors: Tensor, mention_scores: Tensor) -> Antecedents:
        """Take (K, P) and (K,)."""
        count = len(vectors)
        order = torch.arange(count, device=vectors.device)
        is_before = order[None, :] < order[:, None]  # (K, K)
        products = self.dropout(self.coarse_span(vectors)) @ self.coarse_antecedent(vectors).T
        coarse = (
            mention_scores[:, None] + mention_scores[None, :] + self.coarse_scale * products.float()
        )  # (K, K)
        likely = torch.where(is_before, coarse.detach(), VERY_LOW)
        places = likely.topk(min(self.antecedents, count), dim=1).indices  # (K, A)
        exists = is_before.gather(1, places)
        scores = coarse.gather(1, places) + self._compared(vectors, order[:, None] - places, places)
        return Antecedents(torch.where(exists, scores, VERY_LOW), places, exists)

    def _compared(self, vectors: Tensor, distances: Tensor, places: Tensor) -> Tensor:
        """Give a(i, j) (K, A)."""
        buckets = torch.bucketize(distances, self.distances, right=True)  # (K, A)
        alike = vectors[:, None, :] * embedding(places, vectors)  # (K, A, P)
        spans, antecedents, alike, far = self.first_layer(
            vectors, vectors, alike, self.dropout(self.distance_vectors)
        )  # (K, H), (K, H), (K, A, H), (10, H)
        hidden = (
            spans[:, None, :] + embedding(places, antecedents) + alike + embedding(buckets, far)
        )
        scores: Tensor = self.other_layers(hidden)[:, :, 0]
        return scores.float()
