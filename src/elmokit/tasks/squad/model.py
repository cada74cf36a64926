"""Where in a text the answer to a question starts and ends.

B questions, T tokens of the longest text, S of the longest question, D input size,
E size of the mix at the output, H size of an LSTM direction, P projection size
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmokit.tasks.blocks.bidirectional_attention import BidirectionalAttention
from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.blocks.residual_self_attention import ResidualSelfAttention
from elmokit.tasks.blocks.variational_dropout import VariationalDropout
from elmokit.tasks.squad.spans import AnswerSpan, best_spans
from elmokit.tasks.task import Targets, TaskModel, TextVectors


class SquadModel(TaskModel):
    """BiDAF with self-attention (Clark & Gardner 2018), with LSTMs in place of GRUs.

    One LSTM reads text and question; attention tells the text about the question, then about
    itself; a second LSTM scores starts and a third, which sees the second one's output, ends.
    The mix at the output is joined to what the first LSTM makes of text and question alike, as
    the attention compares the two number by number.

    ``output_dim`` is E, 0 without such a mix.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        hidden_dim: int,
        projection_dim: int,
        dropout: float,
        longest_answer: int,
    ) -> None:
        super().__init__()
        self.longest_answer = longest_answer
        self.dropout = VariationalDropout(dropout)
        self.encoder = BiLSTM(input_dim=input_dim, hidden_dim=hidden_dim, dropout=dropout)
        self.attention = BidirectionalAttention(dim=self.encoder.output_dim + output_dim)
        self.projection = nn.Linear(self.attention.output_dim, projection_dim)
        self.self_attention = ResidualSelfAttention(
            dim=projection_dim, hidden_dim=hidden_dim, dropout=dropout
        )
        self.start_encoder = BiLSTM(
            input_dim=projection_dim, hidden_dim=hidden_dim, dropout=dropout
        )
        self.end_encoder = BiLSTM(
            input_dim=projection_dim + self.start_encoder.output_dim,
            hidden_dim=hidden_dim,
            dropout=dropout,
        )
        self.start = nn.Linear(self.start_encoder.output_dim, 1)
        self.end = nn.Linear(self.end_encoder.output_dim, 1)
        for layer in (self.projection, self.start, self.end):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give ``-log p(start) - log p(end)`` (B,), summed over all answers that are given.

        ``targets["starts"]`` and ``["ends"]`` (B, T) are True where an answer starts or ends; a
        question without any has no loss.
        """
        starts, ends = self.scores(texts)
        return _surprise(starts, targets["starts"]) + _surprise(ends, targets["ends"])

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[AnswerSpan]:
        """Give the best span for each question; no targets are needed."""
        starts, ends = self.scores(texts)
        return best_spans(starts, ends, longest=self.longest_answer)

    def scores(self, texts: Sequence[TextVectors]) -> tuple[Tensor, Tensor]:
        """Score each token as start and as end: twice (B, T), very low at padding."""
        text, question = texts
        about = self.attention(
            self._encoded(text), self._encoded(question), text.mask, question.mask
        )  # (B, T, 4 * (2H + E))
        matched = F.relu(self.projection(about))  # (B, T, P)
        matched = self.self_attention(matched, text.mask)  # (B, T, P)
        for_start = self.start_encoder(matched, text.mask)  # (B, T, 2H)
        for_end = self.end_encoder(torch.cat([matched, for_start], dim=2), text.mask)  # (B, T, 2H)
        starts = self.start(for_start).squeeze(2).float()  # (B, T)
        ends = self.end(for_end).squeeze(2).float()  # (B, T)
        return torch.where(text.mask, starts, VERY_LOW), torch.where(text.mask, ends, VERY_LOW)

    def _encoded(self, text: TextVectors) -> Tensor:
        """Give (B, T, 2H + E)."""
        hidden = self.dropout(self.encoder(text.inputs, text.mask))
        # The mix has had its own dropout.
        return hidden if text.at_output is None else torch.cat([hidden, text.at_output], dim=2)


def _surprise(scores: Tensor, right: Tensor) -> Tensor:
    """Give ``-log`` of the joint probability of the right places (B,); 0 where there are none."""
    of_right = torch.where(right, scores, VERY_LOW).logsumexp(dim=1)
    return torch.where(right.any(dim=1), scores.logsumexp(dim=1) - of_right, 0.0)
