"""A bidirectional LSTM over texts of different length.

B texts, T tokens of the longest one, D input size, H size of a direction
"""

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.variational_dropout import VariationalDropout


class BiLSTM(nn.Module):
    """LSTM layers in both directions, with variational dropout before each of them.

    Weights begin orthogonal (recurrent) and Glorot-uniform (input); forget gates are open. For the
    backward direction each text is turned round within its own length, so that padding comes last
    in both: nothing has to be packed, and nothing waits for the lengths.
    """

    def __init__(
        self, *, input_dim: int, hidden_dim: int, layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = VariationalDropout(dropout)
        self.output_dim = 2 * hidden_dim
        sizes = [input_dim] + [self.output_dim] * (layers - 1)
        self.forward_layers = nn.ModuleList(_layer(size, hidden_dim) for size in sizes)
        self.backward_layers = nn.ModuleList(_layer(size, hidden_dim) for size in sizes)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, 2H), zero where ``mask`` (B, T) is False."""
        turned = turned_round(mask)[:, :, None]  # (B, T, 1)
        outputs = inputs
        for ahead, behind in zip(self.forward_layers, self.backward_layers, strict=True):
            dropped = self.dropout(outputs)
            reverse = behind(dropped.gather(1, turned.expand_as(dropped)))[0]
            reverse = reverse.gather(1, turned.expand_as(reverse))
            outputs = torch.cat([ahead(dropped)[0], reverse], dim=2)
        return outputs * mask[:, :, None]


def turned_round(mask: Tensor) -> Tensor:
    """Give the place (B, T) that each token comes to when its text is turned round.

    Padding stays where it is.
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - places, places)


def _layer(input_dim: int, hidden_dim: int) -> nn.LSTM:
    layer = nn.LSTM(input_dim, hidden_dim, batch_first=True)
    weights = dict(layer.named_parameters())
    with torch.no_grad():
        nn.init.xavier_uniform_(weights["weight_ih_l0"])
        for gate in weights["weight_hh_l0"].chunk(4):
            nn.init.orthogonal_(gate)
        weights["bias_ih_l0"].zero_().chunk(4)[1].fill_(1.0)
        weights["bias_hh_l0"].zero_()
    return layer
