"""A text's attention to itself, added to it (Clark & Gardner 2018).

B texts, T tokens, D size of a vector, H size of an LSTM direction
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.blocks.trilinear import TrilinearSimilarity
from elmokit.tasks.blocks.variational_dropout import VariationalDropout


class ResidualSelfAttention(nn.Module):
    """``x + relu(W [h; c; h * c])``: ``h`` an LSTM's view of the text, ``c`` what it attends to.

    A token attends to all others but not to itself, and may leave part of its attention unused:
    ``nothing`` is the learnt score of attending to none of them, as in the authors' code.
    """

    def __init__(self, *, dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.encoder = BiLSTM(input_dim=dim, hidden_dim=hidden_dim, dropout=dropout)
        self.dropout = VariationalDropout(dropout)
        self.similarity = TrilinearSimilarity(dim=self.encoder.output_dim)
        self.nothing = nn.Parameter(torch.tensor(-1.0))
        self.projection = nn.Linear(3 * self.encoder.output_dim, dim)
        nn.init.xavier_uniform_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        hidden = self.dropout(self.encoder(inputs, mask))  # (B, T, 2H)
        itself = torch.eye(inputs.shape[1], dtype=torch.bool, device=inputs.device)  # (T, T)
        others = mask[:, None, :] & ~itself  # (B, T, T)
        scores = self.similarity(hidden, hidden)  # (B, T, T)
        scores = torch.where(others, scores, VERY_LOW)
        used = torch.sigmoid(scores.logsumexp(dim=2, keepdim=True) - self.nothing)  # (B, T, 1)
        attended = used * (torch.softmax(scores, dim=2) @ hidden)  # (B, T, 2H)
        joined = torch.cat([hidden, attended, hidden * attended], dim=2)  # (B, T, 6H)
        return inputs + F.relu(self.projection(joined))
