"""Roles as tags of tokens (He et al. 2017), the paper's model for semantic roles.

B predicates, T tokens of the longest sentence, C tags
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.tasks.blocks.bio import (
    Span,
    allowed_ends,
    allowed_starts,
    allowed_transitions,
    spans_of,
)
from elmokit.tasks.blocks.highway_lstm import HighwayLSTM
from elmokit.tasks.blocks.viterbi import best_paths
from elmokit.tasks.task import Targets, TaskModel, TextVectors

NO_TAG = -1
"""Stands at padding, and where a label is not known."""


class SrlModel(TaskModel):
    """Vectors and the predicate's place to tags; a mix at the output is joined to the last layer's.

    Each token's tag is trained by itself; prediction takes the likeliest tags that make spans.
    """

    transitions: Tensor
    starts: Tensor
    ends: Tensor

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        hidden_dim: int,
        layers: int,
        predicate_dim: int,
        dropout: float,
        tags: Sequence[str],
    ) -> None:
        super().__init__()
        self.tags = tuple(tags)
        self.predicate = nn.Embedding(2, predicate_dim)
        self.encoder = HighwayLSTM(
            input_dim=input_dim + predicate_dim,
            hidden_dim=hidden_dim,
            layers=layers,
            dropout=dropout,
        )
        self.scores = nn.Linear(hidden_dim + output_dim, len(tags))
        for name, allowed in (
            ("transitions", allowed_transitions(tags)),
            ("starts", allowed_starts(tags)),
            ("ends", allowed_ends(tags)),
        ):
            values = torch.where(allowed, 0.0, -torch.inf)
            self.register_buffer(name, values, persistent=False)

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the mean negative log-likelihood of each sentence's tags (B,)."""
        tags = targets["tags"]  # (B, T)
        scores = self._scores(texts, targets)
        losses = functional.cross_entropy(
            scores.flatten(0, 1), tags.flatten(), ignore_index=NO_TAG, reduction="none"
        ).view_as(tags)
        return losses.sum(dim=1) / (tags != NO_TAG).sum(dim=1).clamp(min=1)

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[list[Span]]:
        """Give the spans of each predicate, its own among them."""
        paths = best_paths(
            functional.log_softmax(self._scores(texts, targets), dim=2),
            texts[0].mask,
            transitions=self.transitions,
            starts=self.starts,
            ends=self.ends,
        )  # (B, T)
        return [spans_of([self.tags[tag] for tag in path if tag >= 0]) for path in paths.tolist()]

    def _scores(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the score of each tag at each token: (B, T, C) float32."""
        (text,) = texts
        places = torch.arange(text.mask.shape[1], device=text.mask.device)
        is_predicate = places == targets["predicate"][:, None]  # (B, T)
        marks = self.predicate(is_predicate.long())  # (B, T, P)
        encoded = self.encoder(torch.cat([text.inputs, marks], dim=2), text.mask)  # (B, T, H)
        if text.at_output is not None:
            encoded = torch.cat([encoded, text.at_output], dim=2)
        scores: Tensor = self.scores(encoded)
        return scores.float()
