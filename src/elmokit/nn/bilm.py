"""The bidirectional language model: two independent stacks over the same token vectors.

B sentences, T tokens (marks included), P size of a direction, L LSTM layers
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from elmokit.nn.projected_lstm import LSTMStack, LSTMState
from elmokit.nn.token_encoder import TokenEncoder


class BiLMState(NamedTuple):
    """What both directions remember between two calls."""

    forward: LSTMState
    backward: LSTMState


class BiLMOutput(NamedTuple):
    """Every representation of every token."""

    layers: list[Tensor]
    """L+1 tensors (B, T, 2P): ``[x; x]``, then ``[forward; backward]``; zero at padding."""
    state: BiLMState
    """The state at each sentence's own end (its start, for the backward direction)."""


class BiLM(nn.Module):
    """Token encoder, forward stack, backward stack."""

    def __init__(
        self, *, token_encoder: TokenEncoder, forward_lstm: LSTMStack, backward_lstm: LSTMStack
    ) -> None:
        super().__init__()
        self.token_encoder = token_encoder
        self.forward_lstm = forward_lstm
        self.backward_lstm = backward_lstm

    @property
    def depth(self) -> int:
        """Number of LSTM layers in a direction."""
        return len(self.forward_lstm.layers)

    @property
    def output_dim(self) -> int:
        """Size of a representation: both directions together."""
        return 2 * self.token_encoder.output_dim

    def zero_state(self, rows: int) -> BiLMState:
        """Give the state of rows that have read nothing."""
        return BiLMState(self.forward_lstm.zero_state(rows), self.backward_lstm.zero_state(rows))

    def forward(self, token_vectors: Tensor, lengths: Tensor, state: BiLMState) -> BiLMOutput:
        """Run token vectors (B, T, P) with ``lengths`` (B,) on the CPU, from ``state``.

        Positions past a sentence's length are never read.
        """
        steps = token_vectors.shape[1]
        order = torch.argsort(lengths, descending=True, stable=True)
        sorted_lengths = lengths[order]
        active = (sorted_lengths[:, None] > torch.arange(steps)).sum(dim=0).tolist()
        device = token_vectors.device
        order = order.to(device)
        inverse = torch.argsort(order)
        positions = torch.arange(steps, device=device)
        device_lengths = sorted_lengths.to(device)[:, None]
        mask = positions < device_lengths  # (B, T)
        # Within its true length each row is read from its end; padding stays where it is.
        mirrored = torch.where(mask, device_lengths - 1 - positions, positions)  # (B, T)

        inputs = token_vectors[order].masked_fill(~mask[:, :, None], 0)  # (B, T, P)
        forward_layers, forward_state = self.forward_lstm(
            inputs, active, _rows(state.forward, order)
        )
        backward_layers, backward_state = self.backward_lstm(
            _take_steps(inputs, mirrored), active, _rows(state.backward, order)
        )
        layers = [torch.cat([inputs, inputs], dim=2)[inverse]]
        for ahead, behind in zip(forward_layers, backward_layers, strict=True):
            layers.append(torch.cat([ahead, _take_steps(behind, mirrored)], dim=2)[inverse])
        return BiLMOutput(
            layers, BiLMState(_rows(forward_state, inverse), _rows(backward_state, inverse))
        )


def _rows(state: LSTMState, index: Tensor) -> LSTMState:
    return LSTMState(state.cell[:, index], state.hidden[:, index])


def _take_steps(values: Tensor, steps: Tensor) -> Tensor:
    """Reorder the steps of (B, T, P) row by row; ``steps`` is (B, T)."""
    return values.gather(1, steps[:, :, None].expand_as(values))
