"""A stack of projected LSTMs over a ragged batch, one direction, for a CPU.

It computes what `nn.LSTMStack` computes, in fewer passes over memory: ``tanh(x) = 2 sigmoid(2x) -
1``, and the doubled argument is in the weights of the candidate gate (times 2 is exact), so one
sigmoid does all four gates. `cell_tanh` says what cells have.

B rows, N tokens, H cell, P output
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.engine.cpu.cell_tanh import tanh_for
from elmokit.engine.cpu.products import product_with, projection_with, rounded_product_with
from elmokit.engine.ragged import RaggedBatch
from elmokit.nn.projected_lstm import LSTMStack, LSTMState, ProjectedLSTM

# Input products are made for so many tokens at once: enough for a product to be fast, and few
# enough for its results to be in the cache still when they are read, and in memory that was used
# before: blocks beyond some megabytes are new pages of the system in every call.
TOKENS_PER_PRODUCT = 128
WORDS_PER_PRODUCT = 256

InputGates = Callable[[int, int], Tensor]
"""What the inputs from one place to another add to the gates: (tokens, 4H)."""


class Layer:
    """One layer in one direction."""

    def __init__(self, layer: ProjectedLSTM, *, dtype: str) -> None:
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
            else projection_with(layer.projection_weight, dtype=dtype)
        )
        self._cell_clip, self.projection_clip = layer.cell_clip, layer.projection_clip
        self._size = layer.hidden_dim
        self._tanh = tanh_for(layer.hidden_dim, dtype=dtype)

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
        return self._tanh(cell).mul_(output_gate)  # (B, H)

    def clipped(self, hidden: Tensor) -> Tensor:
        """Clip a projection (B, P) in place."""
        clip = self.projection_clip
        return hidden if clip is None else hidden.clamp_(-clip, clip)


class KeptTable:
    """What distinct words add to the gates, in memory that is kept from batch to batch.

    Some 100 MB at the original size, as new pages in every batch, took a tenth of its time.
    """

    def __init__(self) -> None:
        self._memory = torch.empty(0)

    def filled(self, product: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
        """Give the product with words (U, P): (U, 4H), until it is filled again."""
        rows: Tensor | None = None
        for first in range(0, len(words), WORDS_PER_PRODUCT):
            part = product(words[first : first + WORDS_PER_PRODUCT])
            if rows is None:
                rows = self._rows(len(words), part)
            rows[first : first + len(part)] = part
        assert rows is not None, "a batch has words"
        return rows

    def _rows(self, count: int, like: Tensor) -> Tensor:
        numbers = count * like.shape[1]
        if self._memory.dtype != like.dtype or len(self._memory) < numbers:
            self._memory = like.new_empty(numbers + numbers // 8)
        return self._memory[:numbers].view(count, -1)


class Stack:
    """All layers in one direction."""

    def __init__(self, stack: LSTMStack, *, dtype: str, table: "KeptTable") -> None:
        self._table = table
        self.layers = []
        for layer in stack.layers:
            assert isinstance(layer, ProjectedLSTM)
            self.layers.append(Layer(layer, dtype=dtype))
        self.skip_connections = stack.skip_connections
        # In 8 bits a product costs little more than fetching its result from a table larger than
        # the caches, and that table is new memory in every batch.
        self._looks_up = dtype != "int8"

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
            if number > 0:
                gates = _computed(layer.input, outputs[-1])
            elif self._looks_up:
                gates = _looked_up(self._table.filled(layer.input, words), tokens)
            else:
                gates = _computed(layer.input, words[tokens])
            found = layer.run(gates, batch, cell, hidden)
            cells.append(cell)
            hiddens.append(found[batch.last])
            if number > 0 and self.skip_connections:
                found.add_(outputs[-1])
            outputs.append(found)
        return outputs, LSTMState(torch.stack(cells), torch.stack(hiddens))


def _looked_up(table: Tensor, tokens: Tensor) -> InputGates:
    return lambda first, end: table.index_select(0, tokens[first:end])


def _computed(product: Callable[[Tensor], Tensor], inputs: Tensor) -> InputGates:
    return lambda first, end: product(inputs[first:end])


def with_doubled_candidate(gates: Tensor) -> Tensor:
    """Copy weights (4H, ...) of gates, those of the candidate times two."""
    gates = gates.clone()
    size = len(gates) // 4
    gates[2 * size : 3 * size] *= 2
    return gates
