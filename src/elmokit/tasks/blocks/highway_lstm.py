"""A deep LSTM whose layers alternate in direction (He et al. 2017, "Deep Semantic Role Labeling").

B texts, T tokens of the longest one, D input size, H size of a layer
"""

from typing import Any

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.highway_recurrence import run_layer


class HighwayLSTM(nn.Module):
    """LSTM layers with a highway connection each: the first reads forwards, the second backwards.

    A step gives ``r * o * tanh(c) + (1 - r) * W x`` with ``r = sigmoid(U h + V x + b)``, so that
    what a layer reads can pass by its cell. Dropout drops the same numbers of this output at
    every token of a text, for the next step as well as for the next layer.

    Weights begin orthonormal; forget gates are open.
    """

    def __init__(
        self, *, input_dim: int, hidden_dim: int, layers: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout = dropout
        self.layers = nn.ModuleList(
            _Layer(input_dim=input_dim if layer == 0 else hidden_dim, hidden_dim=hidden_dim)
            for layer in range(layers)
        )

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, H), zero where ``mask`` (B, T) is False; tokens stand first."""
        values = inputs.transpose(0, 1)  # (T, B, D)
        if torch.is_autocast_enabled(inputs.device.type):
            values = values.to(torch.get_autocast_dtype(inputs.device.type))
        values = values.contiguous()
        turned = _turned(mask)  # (T, B)
        kept = self._kept(values)  # (layers, B, H)
        with torch.autocast(inputs.device.type, enabled=False):
            for number, layer in enumerate(self.layers):
                if number > 0:
                    values = _Turn.apply(values, turned)  # type: ignore[no-untyped-call]
                values = layer(values, None if kept is None else kept[number])
            if len(self.layers) % 2 == 0:
                values = _Turn.apply(values, turned)  # type: ignore[no-untyped-call]
        return values.transpose(0, 1) * mask[:, :, None]

    def _kept(self, values: Tensor) -> Tensor | None:
        """Give factors (layers, B, H), 0 for a number that is dropped."""
        if not self.training or self.dropout == 0.0:
            return None
        kept = torch.empty(
            len(self.layers), values.shape[1], self.hidden_dim, device=values.device,
            dtype=torch.promote_types(values.dtype, torch.float32),
        )  # fmt: skip
        return kept.bernoulli_(1 - self.dropout).div_(1 - self.dropout)


class _Layer(nn.Module):
    """One direction; padding stands behind the tokens and never reaches them."""

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(6 * hidden_dim, input_dim))
        self.recurrent_weight = nn.Parameter(torch.empty(5 * hidden_dim, hidden_dim))
        self.bias = nn.Parameter(torch.zeros(5 * hidden_dim))
        with torch.no_grad():
            for part in (*self.input_weight.chunk(6), *self.recurrent_weight.chunk(5)):
                nn.init.orthogonal_(part)
            self.bias.chunk(5)[3].fill_(1.0)

    def forward(self, inputs: Tensor, kept: Tensor | None) -> Tensor:
        return run_layer(
            inputs,
            input_weight=self.input_weight,
            recurrent_weight=self.recurrent_weight,
            bias=self.bias,
            kept=kept,
        )


def _turned(mask: Tensor) -> Tensor:
    """Give (T, B): where the token of each place stands if its text is read backwards."""
    lengths = mask.sum(dim=1)  # (B,)
    places = torch.arange(mask.shape[1], device=mask.device)[:, None]  # (T, 1)
    return torch.where(places < lengths, lengths - 1 - places, places)


class _Turn(torch.autograd.Function):
    """Turn each text round within its length; turning is its own gradient."""

    @staticmethod
    def forward(context: Any, values: Tensor, turned: Tensor) -> Tensor:
        context.save_for_backward(turned)
        return torch.take_along_dim(values, turned[:, :, None], dim=0)

    @staticmethod
    def backward(context: Any, grad: Tensor) -> tuple[Tensor, None]:
        (turned,) = context.saved_tensors
        return torch.take_along_dim(grad, turned[:, :, None], dim=0), None
