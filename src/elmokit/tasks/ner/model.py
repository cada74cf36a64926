"""A biLSTM with a CRF (Lample et al. 2016; Ma & Hovy 2016), the paper's model for entities.

B sentences, T tokens of the longest one, C tags
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.bio import Span, spans_of
from elmokit.tasks.blocks.crf import CRF
from elmokit.tasks.blocks.variational_dropout import VariationalDropout
from elmokit.tasks.task import Targets, TaskModel, TextVectors


class NerModel(TaskModel):
    """Vectors to tags; a mix at the output is joined to what the biLSTM gives."""

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        hidden_dim: int,
        layers: int,
        dropout: float,
        tags: Sequence[str],
    ) -> None:
        super().__init__()
        self.tags = tuple(tags)
        self.encoder = BiLSTM(
            input_dim=input_dim, hidden_dim=hidden_dim, layers=layers, dropout=dropout
        )
        self.dropout = VariationalDropout(dropout)
        self.scores = nn.Linear(self.encoder.output_dim + output_dim, len(tags))
        self.crf = CRF(tags)

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the negative log-likelihood of each sentence's tags (B,)."""
        (text,) = texts
        return self.crf.losses(self._scores(text), targets["tags"], text.mask)

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[list[Span]]:
        """Give the entities of each sentence."""
        del targets
        (text,) = texts
        paths = self.crf.decode(self._scores(text), text.mask).tolist()
        return [spans_of([self.tags[tag] for tag in path if tag >= 0]) for path in paths]

    def _scores(self, text: TextVectors) -> Tensor:
        """Give the score of each tag at each token: (B, T, C)."""
        encoded = self.dropout(self.encoder(text.inputs, text.mask))
        if text.at_output is not None:
            encoded = torch.cat([encoded, text.at_output], dim=2)
        scores: Tensor = self.scores(encoded)
        return scores
