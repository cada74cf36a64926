"""One sentence alone, both directions side by side.

Here time goes into reading weights and into calling operations, not into arithmetic. So the two
directions are the two rows of one batch, and the weights of both stand below each other in one
product. It is made for both rows, and a row's result for the other direction is not read.
Numbers are those of `lstm` to the bit.

n tokens, H cell, P output; the first row is the forward direction's
"""

import torch
from torch import Tensor

from elmokit.engine.cpu.lstm import (
    TOKENS_PER_PRODUCT,
    InputGates,
    Layer,
    Stack,
    with_doubled_candidate,
)
from elmokit.engine.cpu.products import Product, product_with, projection_with
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState, ProjectedLSTM


class LoneSentence:
    """All layers, in both directions."""

    def __init__(self, bilm: BiLM, forward: Stack, backward: Stack, *, dtype: str) -> None:
        self._skip_connections = forward.skip_connections
        self._layers = []
        for modules, layers in zip(
            zip(bilm.forward_lstm.layers, bilm.backward_lstm.layers, strict=True),
            zip(forward.layers, backward.layers, strict=True),
            strict=True,
        ):
            ahead, behind = modules
            assert isinstance(ahead, ProjectedLSTM)
            assert isinstance(behind, ProjectedLSTM)
            self._layers.append(_BothDirections((ahead, behind), layers, dtype=dtype))

    def run(
        self, words: Tensor, tokens: Tensor, state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """Give each layer's outputs (n, 2P) in the sentence's order, and the state at the ends.

        ``words`` (U, P) are distinct inputs and ``tokens`` (n,) says which of them stands where;
        ``state`` has one row.
        """
        outputs: list[Tensor] = []
        cells, hiddens = [], []
        below: Tensor | None = None  # (n, 2, P) in the order of reading
        for number, layer in enumerate(self._layers):
            gates = layer.looked_up(words, tokens) if below is None else layer.computed(below)
            cell = torch.cat([part.cell[number] for part in state]).float()  # (2, H)
            hidden = torch.cat([part.hidden[number] for part in state]).float()  # (2, P)
            found = layer.run(gates, len(tokens), cell, hidden)
            cells.append(cell)
            hiddens.append(found[-1])
            if below is not None and self._skip_connections:
                found = found + below
            below = found
            outputs.append(torch.cat([found[:, 0], found[:, 1].flip(0)], dim=1))
        ends = [
            LSTMState(
                torch.stack([cell[row : row + 1] for cell in cells]),
                torch.stack([hidden[row : row + 1] for hidden in hiddens]),
            )
            for row in (0, 1)
        ]
        return outputs, BiLMState(*ends)


class _BothDirections:
    """One layer."""

    def __init__(
        self,
        modules: tuple[ProjectedLSTM, ProjectedLSTM],
        layers: tuple[Layer, Layer],
        *,
        dtype: str,
    ) -> None:
        self._ahead, self._behind = layers
        self._recurrent = product_with(
            torch.cat([with_doubled_candidate(module.recurrent_weight) for module in modules]),
            None,
            dtype=dtype,
        )
        projections = [module.projection_weight for module in modules]
        self._projection: Product | None = None
        if projections[0] is not None and projections[1] is not None:
            self._projection = projection_with(
                torch.cat([projections[0], projections[1]]), dtype=dtype
            )

    def looked_up(self, words: Tensor, tokens: Tensor) -> InputGates:
        """Let the inputs be distinct words (U, P), of which ``tokens`` (n,) are read."""
        tables = [self._ahead.input(words), self._behind.input(words)]
        taken = torch.stack([tokens, tokens.flip(0)])  # (2, n)
        return lambda first, end: _in_own_halves(
            [table[rows[first:end]] for table, rows in zip(tables, taken, strict=True)]
        )

    def computed(self, inputs: Tensor) -> InputGates:
        """Let the inputs be (n, 2, P)."""
        return lambda first, end: _in_own_halves(
            [self._ahead.input(inputs[first:end, 0]), self._behind.input(inputs[first:end, 1])]
        )

    def run(self, gates: InputGates, steps: int, cell: Tensor, hidden: Tensor) -> Tensor:
        """Give the outputs (n, 2, P) for input gates; ``cell`` becomes the last one."""
        outputs = []
        for first in range(0, steps, TOKENS_PER_PRODUCT):
            for step_gates in gates(first, min(first + TOKENS_PER_PRODUCT, steps)).unbind(0):
                own = _own_halves(self._recurrent.added_to(step_gates, hidden))  # (2, 4H)
                hidden = self._ahead.exposed(own, cell)
                if self._projection is not None:
                    # Contiguous, because so are the rows of a batch.
                    hidden = _own_halves(self._projection(hidden)).contiguous()
                    hidden = self._ahead.clipped(hidden)
                outputs.append(hidden)
        return torch.stack(outputs).float()


def _in_own_halves(parts: list[Tensor]) -> Tensor:
    """Give two directions' gates (n, 4H) as (n, 2, 8H): for each row its own direction's half."""
    gates = parts[0].new_zeros(len(parts[0]), 2, 2, parts[0].shape[1])
    for row, part in enumerate(parts):
        gates[:, row, row] = part
    return gates.flatten(2)


def _own_halves(rows: Tensor) -> Tensor:
    """Give of two rows the first half of the first and the second half of the second, in place."""
    half = rows.shape[1] // 2
    return rows.as_strided((2, half), (3 * half, 1))
