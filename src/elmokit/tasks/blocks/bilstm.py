"""A bidirectional LSTM over texts of different length.

B texts, T tokens of the longest one, D input size, H size of a direction
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmokit.tasks.blocks.variational_dropout import VariationalDropout


class BiLSTM(nn.Module):
    """LSTM layers in both directions, with variational dropout before each of them.

    Weights begin orthogonal (recurrent) and Glorot-uniform (input); forget gates are open.
    """

    def __init__(
        self, *, input_dim: int, hidden_dim: int, layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = VariationalDropout(dropout)
        self.output_dim = 2 * hidden_dim
        self.layers = nn.ModuleList(
            nn.LSTM(
                input_dim if layer == 0 else self.output_dim,
                hidden_dim,
                batch_first=True,
                bidirectional=True,
            )
            for layer in range(layers)
        )
        for layer in self.layers:
            for name, weight in layer.named_parameters():
                _initialise(name, weight)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, 2H), zero where ``mask`` (B, T) is False."""
        lengths = mask.sum(dim=1).cpu()
        present = lengths.clamp(min=1)  # a packed text cannot be empty
        outputs = inputs
        for layer in self.layers:
            packed = pack_padded_sequence(
                self.dropout(outputs), present, batch_first=True, enforce_sorted=False
            )
            outputs, _ = pad_packed_sequence(
                layer(packed)[0], batch_first=True, total_length=inputs.shape[1]
            )
        return outputs * mask[:, :, None]


def _initialise(name: str, weight: Tensor) -> None:
    if name.startswith("weight_ih"):
        nn.init.xavier_uniform_(weight)
    elif name.startswith("weight_hh"):
        with torch.no_grad():
            for gate in weight.chunk(4):
                nn.init.orthogonal_(gate)
    else:
        nn.init.zeros_(weight)
        if name.startswith("bias_ih"):
            with torch.no_grad():
                weight.chunk(4)[1].fill_(1.0)
