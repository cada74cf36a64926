"""LSTM with a clipped cell and a clipped linear projection of its output (Sak et al. 2014).

B rows, T steps, D input, H cell, P output of the projection (H where there is none), L layers
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.nn.row_blocks import blocks, joined, pad_rows, rows_per_block

# Input products are made for this many tokens at a time, so that a very long sentence needs
# memory for its outputs but never for all of its gates at once.
TOKENS_PER_PRODUCT = 1024


class LSTMState(NamedTuple):
    """What a stack remembers between two calls."""

    cell: Tensor
    """(L, B, H)"""
    hidden: Tensor
    """(L, B, P): the projected output, before any skip connection."""


class ProjectedLSTM(nn.Module):
    """One layer in one direction; gate order i, f, g, o as in torch.

    ``forget_bias`` is added to the forget gate at run time and is not part of ``bias``, so
    that weights travel to and from TensorFlow unchanged.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        hidden_dim: int,
        projection_dim: int | None = None,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.output_dim = projection_dim or hidden_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.forget_bias = forget_bias
        self.input_weight = nn.Parameter(torch.empty(4 * hidden_dim, input_dim))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_dim, self.output_dim))
        self.bias = nn.Parameter(torch.empty(4 * hidden_dim))
        self.projection_weight = (
            nn.Parameter(torch.empty(projection_dim, hidden_dim)) if projection_dim else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform over the joint [input; hidden] kernel, as TensorFlow's LSTMCell."""
        rows, columns = self.input_weight.shape[0], self.input_weight.shape[1] + self.output_dim
        bound = (6.0 / (rows + columns)) ** 0.5
        nn.init.uniform_(self.input_weight, -bound, bound)
        nn.init.uniform_(self.recurrent_weight, -bound, bound)
        nn.init.zeros_(self.bias)
        if self.projection_weight is not None:
            nn.init.xavier_uniform_(self.projection_weight)

    def forward(
        self,
        inputs: Tensor,
        active: Sequence[int],
        cell: Tensor,
        hidden: Tensor,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run over (B, T, D) whose rows are sorted by falling length.

        ``active[t]`` rows have a token at step t. Gives the outputs (B, T, P), zero where a
        row has ended, and the cell (B, H) and hidden (B, P) at each row's own end. Where
        ``resets`` (B, T) is true, a row forgets its state before it reads that step.
        """
        rows, steps, width = inputs.shape
        recurrent_weight = self.recurrent_weight.t()  # (P, 4H)
        bias = self.gate_bias()  # (4H,)
        cell, hidden = pad_rows(cell), pad_rows(hidden)  # (blocks, H), (blocks, P)
        block = rows_per_block(inputs)
        outputs = [inputs.new_zeros(rows, 0, self.output_dim)]
        chunk = max(1, TOKENS_PER_PRODUCT // max(len(cell), 1))
        for first in range(0, steps, chunk):
            chunk_inputs = inputs[:, first : first + chunk].transpose(0, 1)  # (chunk, B, D)
            input_gates = self._input_gates(chunk_inputs.reshape(-1, width), bias)
            input_gates = pad_rows(input_gates.view(-1, rows, input_gates.shape[1]), dim=1)
            chunk_outputs = []
            for offset, step_gates in enumerate(input_gates.unbind(0)):  # (blocks, 4H)
                count = active[first + offset]
                if resets is not None:
                    forgotten = pad_rows(resets[:, first + offset, None])  # (blocks, 1)
                    cell = cell.masked_fill(forgotten, 0)
                    hidden = hidden.masked_fill(forgotten, 0)
                part = -(-count // block) * block  # the whole blocks that hold active rows
                step_cell, step_hidden = self._step(
                    step_gates[:part], hidden[:part], cell[:part], recurrent_weight
                )
                if count == rows:
                    cell, hidden = step_cell, step_hidden
                    chunk_outputs.append(step_hidden[:rows])
                else:
                    step_hidden = step_hidden[:count]
                    cell = torch.cat([step_cell[:count], cell[count:]])
                    hidden = torch.cat([step_hidden, hidden[count:]])
                    chunk_outputs.append(F.pad(step_hidden, (0, 0, 0, rows - count)))
            outputs.append(torch.stack(chunk_outputs, dim=1))
        return torch.cat(outputs, dim=1), cell[:rows], hidden[:rows]

    def _input_gates(self, tokens: Tensor, bias: Tensor) -> Tensor:
        """What the inputs (N, D) add to the gates: (N, 4H)."""
        pieces = [F.linear(block, self.input_weight, bias) for block in blocks(pad_rows(tokens))]
        return joined(pieces)[: len(tokens)]

    def _step(
        self, gates: Tensor, hidden: Tensor, cell: Tensor, recurrent_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run one step of whole blocks of rows."""
        pieces = [
            self._step_block(torch.addmm(block_gates, block_hidden, recurrent_weight), block_cell)
            for block_gates, block_hidden, block_cell in zip(
                blocks(gates), blocks(hidden), blocks(cell), strict=True
            )
        ]
        return joined([piece[0] for piece in pieces]), joined([piece[1] for piece in pieces])

    def _step_block(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """From the summed gates (B, 4H) and the cell (B, H) to the next cell and hidden."""
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
        cell = torch.addcmul(forget_gate.sigmoid() * cell, input_gate.sigmoid(), candidate.tanh())
        if self.cell_clip is not None:
            cell = cell.clamp(-self.cell_clip, self.cell_clip)
        hidden = output_gate.sigmoid() * cell.tanh()  # (B, H)
        if self.projection_weight is not None:
            hidden = F.linear(hidden, self.projection_weight)  # (B, P)
            if self.projection_clip is not None:
                hidden = hidden.clamp(-self.projection_clip, self.projection_clip)
        return cell, hidden

    def gate_bias(self) -> Tensor:
        """Give the bias (4H,) with ``forget_bias`` added."""
        offset = torch.zeros_like(self.bias)
        offset[self.hidden_dim : 2 * self.hidden_dim] = self.forget_bias
        return self.bias + offset


class LSTMStack(nn.Module):
    """L layers in one direction, with skip connections from the second layer on.

    Dropout acts on every layer's input; the skip connection carries the dropped input.
    """

    def __init__(
        self, layers: Sequence[ProjectedLSTM], *, skip_connections: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.skip_connections = skip_connections
        self.dropout = dropout

    def forward(
        self, inputs: Tensor, active: Sequence[int], state: LSTMState
    ) -> tuple[list[Tensor], LSTMState]:
        """Give each layer's outputs (B, T, P) and the state at each row's own end."""
        outputs, cells, hiddens = [], [], []
        for index, layer in enumerate(self.layers):
            inputs = F.dropout(inputs, self.dropout, self.training)
            layer_outputs, cell, hidden = layer(
                inputs, active, state.cell[index], state.hidden[index]
            )
            if index > 0 and self.skip_connections:
                layer_outputs = layer_outputs + inputs
            outputs.append(layer_outputs)
            cells.append(cell)
            hiddens.append(hidden)
            inputs = layer_outputs
        return outputs, LSTMState(torch.stack(cells), torch.stack(hiddens))

    def zero_state(self, rows: int) -> LSTMState:
        """Give the state of rows that have read nothing."""
        first = self.layers[0]
        assert isinstance(first, ProjectedLSTM)
        like, depth = first.bias, len(self.layers)
        return LSTMState(
            like.new_zeros(depth, rows, first.hidden_dim),
            like.new_zeros(depth, rows, first.output_dim),
        )
