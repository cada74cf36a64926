"""A stack of projected LSTMs over a ragged batch, one direction, for a CPU.

It computes what `nn.LSTMStack` computes, in fewer passes over memory. A tanh costs as much as
six sigmoids here, and ``tanh(x) = 2 sigmoid(2x) - 1``: the doubled argument is in the weights of
the candidate gate (times 2 is exact), so one sigmoid does all four gates. Small cells would lose
digits that way (errors of 1e-5 in the second layer); their tanh is ``e / (e + 2)`` with
``e = exp(2x) - 1``.

B rows, N tokens, H cell, P output
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.engine.cpu.products import product_with, rounded_product_with, worthwhile
from elmokit.engine.ragged import RaggedBatch
from elmokit.nn.projected_lstm import LSTMStack, LSTMState, ProjectedLSTM

# From here on a tanh is 1 in float32, and its exponential far from infinite.
LARGE = 20.0
# Input products are made for so many tokens at once: enough for a product to be fast, and few
# enough for its results to be in the cache still when they are read.
TOKENS_PER_PRODUCT = 256

InputGates = Callable[[int, int], Tensor]
"""What the inputs from one place to another add to the gates: (tokens, 4H)."""


class Layer:
    """One layer in one direction."""

    def __init__(self, layer: ProjectedLSTM, *, dtype: str) -> None:
        size = layer.hidden_dim
        self.input = rounded_product_with(
            with_doubled_candidate(layer.input_weight),
            with_doubled_candidate(layer.gate_bias()),
            dtype=dtype,
        )
        self.recurrent = product_with(
            with_doubled_candidate(layer.recurrent_weight), None, dtype=dtype
        )
        self.projection = (
            None
            if layer.projection_weight is None
            else product_with(layer.projection_weight, None, dtype=projection_type(dtype))
        )
        self._cell_clip, self.projection_clip = layer.cell_clip, layer.projection_clip
        self._is_small = layer.cell_clip is not None and layer.cell_clip <= LARGE
        self._size, self._output_size = size, layer.output_dim

    def run(
        self, input_gates: InputGates, batch: RaggedBatch, cell: Tensor, hidden: Tensor
    ) -> Tensor:
        """Give the outputs (N, P) in the order of reading, from ``cell`` (B, H) and ``hidden``.

        ``cell`` is overwritten with the cell at each row's own end.
        """
        outputs = []
        ends, pair = cell, False
        for span in batch.spans(TOKENS_PER_PRODUCT):
            gates = input_gates(span.first, span.end)
            if span.active[-1] == 1:
                # A lone row goes on beside a row that nobody reads, because products of one row
                # are summed in another order. That row reads what comes next.
                gates = F.pad(gates, (0, 0, 0, 1))
            place = 0
            for rows in span.active:
                if rows == 1 and not pair:
                    cell, hidden, pair = cell[:1].repeat(2, 1), hidden[:1].repeat(2, 1), True
                width = 2 if pair else rows
                if width != len(hidden):
                    cell, hidden = cell[:width], hidden[:width]
                hidden = self._step(gates[place : place + width], cell, hidden)
                outputs.append(hidden[:1] if pair else hidden)
                place += rows
        if pair:
            ends[:1] = cell[:1]
        return torch.cat(outputs).float()

    def _step(self, input_gates: Tensor, cell: Tensor, hidden: Tensor) -> Tensor:
        exposed = self.exposed(self.recurrent.added_to(input_gates, hidden), cell)
        return exposed if self.projection is None else self.clipped(self.projection(exposed))

    def exposed(self, gates: Tensor, cell: Tensor) -> Tensor:
        """Overwrite gates (B, 4H) and cell (B, H), and give what the output gate lets through."""
        gates.sigmoid_()
        input_gate, forget_gate, candidate, output_gate = torch.split(gates, self._size, dim=1)
        cell.mul_(forget_gate).addcmul_(input_gate, candidate, value=2).sub_(input_gate)
        if self._cell_clip is not None:
            cell.clamp_(-self._cell_clip, self._cell_clip)
        return _tanh(cell if self._is_small else cell.clamp(max=LARGE)).mul_(output_gate)  # (B, H)

    def clipped(self, hidden: Tensor) -> Tensor:
        """Clip a projection (B, P) in place."""
        clip = self.projection_clip
        return hidden if clip is None else hidden.clamp_(-clip, clip)


class Stack:
    """All layers in one direction."""

    def __init__(self, stack: LSTMStack, *, dtype: str) -> None:
        self.layers = []
        for layer in stack.layers:
            assert isinstance(layer, ProjectedLSTM)
            self.layers.append(Layer(layer, dtype=dtype))
        self.skip_connections = stack.skip_connections

    def run(
        self, words: Tensor, tokens: Tensor, batch: RaggedBatch, state: LSTMState
    ) -> tuple[list[Tensor], LSTMState]:
        """Give each layer's outputs (N, P) in the order of reading, and the state at the ends.

        ``words`` (U, P) are distinct inputs and ``tokens`` (N,) says which of them is read at
        each place, so that the first layer's input product is made once for a distinct word.
        ``state`` has a row for each of the batch's, or one for all.
        """
        outputs: list[Tensor] = []
        cells, hiddens = [], []
        for number, layer in enumerate(self.layers):
            cell = state.cell[number].expand(batch.rows, -1).float().clone()  # (B, H)
            hidden = state.hidden[number].expand(batch.rows, -1).float()  # (B, P)
            gates = (
                _looked_up(layer.input(words), tokens)
                if number == 0
                else _computed(layer.input, outputs[-1])
            )
            found = layer.run(gates, batch, cell, hidden)
            cells.append(cell)
            hiddens.append(found[batch.last])
            if number > 0 and self.skip_connections:
                found.add_(outputs[-1])
            outputs.append(found)
        return outputs, LSTMState(torch.stack(cells), torch.stack(hiddens))


def _looked_up(table: Tensor, tokens: Tensor) -> InputGates:
    return lambda first, end: table[tokens[first:end]]


def _computed(product: Callable[[Tensor], Tensor], inputs: Tensor) -> InputGates:
    return lambda first, end: product(inputs[first:end])


def with_doubled_candidate(gates: Tensor) -> Tensor:
    """Copy weights (4H, ...) of gates, those of the candidate times two."""
    gates = gates.clone()
    size = len(gates) // 4
    gates[2 * size : 3 * size] *= 2
    return gates


def projection_type(dtype: str) -> str:
    """Give the type of a projection's product."""
    # Outputs of cells are mostly small with a few large ones among them: in 8 bits their errors
    # are a hundred times those of all other products (cosines of 0.995 in place of 0.9999).
    return worthwhile("bfloat16") if dtype == "int8" else dtype


def _tanh(values: Tensor) -> Tensor:
    grown = torch.mul(values, 2).expm1_()
    return grown.div_(grown + 2)
