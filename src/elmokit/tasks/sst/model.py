"""The biattentive classification network (McCann et al. 2017), one text in the place of two.

B texts, T tokens of the longest one, D size of an input vector, H hidden size, E size of the
mix at the output, O size of a token after the integrator (2H + E), C classes
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.batch_norm import BatchNorm
from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.masked import masked_max, masked_mean, masked_softmax
from elmokit.tasks.blocks.maxout import Maxout
from elmokit.tasks.blocks.soft_attention import soft_attention
from elmokit.tasks.blocks.variational_dropout import VariationalDropout
from elmokit.tasks.classification import Choice, choices, class_losses
from elmokit.tasks.sst.settings import SstSettings
from elmokit.tasks.task import Targets, TaskModel, TextVectors


class SstModel(TaskModel):
    """Reads a text, lets its tokens attend to each other, reads it again, and pools.

    The mix at the output joins what the second biLSTM, the integrator, gives.
    """

    def __init__(
        self, settings: SstSettings, *, input_dim: int, output_dim: int, classes: Sequence[str]
    ) -> None:
        super().__init__()
        hidden = settings.hidden_dim
        self.classes = list(classes)
        self.before = nn.Linear(input_dim, hidden)
        self.encoder = BiLSTM(input_dim=hidden, hidden_dim=hidden, dropout=settings.dropout)
        self.integrator = BiLSTM(input_dim=3 * self.encoder.output_dim, hidden_dim=hidden)
        self.dropout = VariationalDropout(settings.integrator_dropout)
        token_dim = self.integrator.output_dim + output_dim
        self.pooling = nn.Linear(token_dim, 1)
        self.output = nn.Sequential(*_output_layers(settings, 4 * token_dim, len(classes)))

    def forward(self, text: TextVectors) -> Tensor:
        """Give a score of each class (B, C)."""
        mask = text.mask
        encoded = self.encoder(torch.relu(self.before(text.inputs)), mask)  # (B, T, 2H)
        context = soft_attention(encoded, encoded, mask)  # (B, T, 2H)
        conditioned = torch.cat([encoded, encoded - context, encoded * context], dim=2)
        integrated = self.dropout(self.integrator(conditioned, mask))  # (B, T, 2H)
        if text.at_output is not None:
            integrated = torch.cat([integrated, text.at_output], dim=2)  # (B, T, O)
        scores: Tensor = self.output(self._pooled(integrated, mask))
        return scores

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the loss of each example (B,)."""
        return class_losses(self(texts[0]), targets)

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[Choice]:
        """Give the class of each example, and how probable each is."""
        return choices(self(texts[0]), self.classes)

    def _pooled(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, O) to (B, 4O): largest, smallest, mean, and a mean with learnt weights."""
        present = mask[:, :, None]  # (B, T, 1)
        weights = masked_softmax(self.pooling(tokens), present, dim=1)  # (B, T, 1)
        return torch.cat(
            [
                masked_max(tokens, present, dim=1),
                -masked_max(-tokens, present, dim=1),
                masked_mean(tokens, present, dim=1),
                (weights * tokens).sum(dim=1),
            ],
            dim=1,
        )


def _output_layers(settings: SstSettings, input_dim: int, classes: int) -> Iterator[nn.Module]:
    sizes = [input_dim, *settings.output_dims, classes]
    dropouts = [*settings.output_dropouts, 0.0]
    for before, after, dropout in zip(sizes, sizes[1:], dropouts, strict=False):
        if settings.batch_norm:
            yield BatchNorm(before)
        yield Maxout(input_dim=before, output_dim=after, pieces=settings.pieces)
        yield nn.Dropout(dropout)
