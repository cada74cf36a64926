"""Entailment by attention between two texts: ESIM (Chen et al. 2017), the sequence model.

Premises and hypotheses pass through the same layers, so they are stacked into one batch:
the premises first, then the hypotheses, both padded to one length.

B pairs, T tokens of the longest text, D size of an input vector, H hidden size, E size of the
mix at the output, O size of an encoded token (2H + E), C classes
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.masked import masked_max, masked_mean
from elmokit.tasks.blocks.soft_attention import soft_attention
from elmokit.tasks.blocks.variational_dropout import VariationalDropout
from elmokit.tasks.classification import Choice, choices, class_losses
from elmokit.tasks.snli.settings import SnliSettings
from elmokit.tasks.task import Targets, TaskModel, TextVectors


class SnliModel(TaskModel):
    """Encodes both texts, lets each attend to the other, reads what they say of each other.

    The mix at the output joins what the encoder, the lowest biLSTM, gives, as in the ELMo paper.
    """

    def __init__(
        self, settings: SnliSettings, *, input_dim: int, output_dim: int, classes: Sequence[str]
    ) -> None:
        super().__init__()
        hidden, dropout = settings.hidden_dim, settings.dropout
        self.classes = list(classes)
        self.encoder = BiLSTM(input_dim=input_dim, hidden_dim=hidden, dropout=dropout)
        self.attention_dropout = VariationalDropout(settings.attention_dropout)
        self.projection = nn.Linear(4 * (self.encoder.output_dim + output_dim), hidden)
        self.composition = BiLSTM(input_dim=hidden, hidden_dim=hidden, dropout=dropout)
        self.output = nn.Sequential(
            nn.Dropout(settings.output_dropout),
            nn.Linear(4 * self.composition.output_dim, hidden),
            nn.ReLU(),
            nn.Dropout(settings.output_dropout),
            nn.Linear(hidden, len(classes)),
        )

    def forward(self, premises: TextVectors, hypotheses: TextVectors) -> Tensor:
        """Give a score of each class (B, C)."""
        mask = _stacked(premises.mask, hypotheses.mask)  # (2B, T)
        encoded = self.encoder(_stacked(premises.inputs, hypotheses.inputs), mask)  # (2B, T, 2H)
        if premises.at_output is not None and hypotheses.at_output is not None:
            mixes = _stacked(premises.at_output, hypotheses.at_output)  # (2B, T, E)
            encoded = torch.cat([encoded, mixes], dim=2)  # (2B, T, O)
        attended = soft_attention(encoded, _swapped(encoded), _swapped(mask))  # (2B, T, O)
        enhanced = torch.cat(
            [encoded, attended, encoded - attended, encoded * attended], dim=2
        )  # (2B, T, 4O)
        projected = torch.relu(self.projection(self.attention_dropout(enhanced)))  # (2B, T, H)
        composed = self.composition(projected, mask)  # (2B, T, 2H)
        present = mask[:, :, None]
        pooled = torch.cat(
            [masked_mean(composed, present, dim=1), masked_max(composed, present, dim=1)], dim=1
        )  # (2B, 4H)
        scores: Tensor = self.output(torch.cat(pooled.chunk(2), dim=1))
        return scores

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the loss of each pair (B,)."""
        return class_losses(self(*texts), targets)

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[Choice]:
        """Give the class of each pair, and how probable each is."""
        return choices(self(*texts), self.classes)


def _stacked(premises: Tensor, hypotheses: Tensor) -> Tensor:
    """Join (B, S, ..) and (B, T, ..) into (2B, max(S, T), ..); padding is zero."""
    longest = max(premises.shape[1], hypotheses.shape[1])
    sides = [0, 0] * (premises.dim() - 2)
    return torch.cat(
        [F.pad(part, (*sides, 0, longest - part.shape[1])) for part in (premises, hypotheses)]
    )


def _swapped(stacked: Tensor) -> Tensor:
    """Put each text in the place of the one it is compared with."""
    return stacked.roll(len(stacked) // 2, dims=0)
