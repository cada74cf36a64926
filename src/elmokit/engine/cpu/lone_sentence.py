"""One sentence alone, both directions side by side.

Here time goes into reading weights and into calling operations, not into arithmetic. So the two
directions are the two rows of one batch: each direction's product is made for both rows, and
all other operations are called once for the two. Numbers are those of `lstm` to the bit.

n tokens, H cell, P output; the first row is the forward direction's
"""

import torch
from torch import Tensor

from elmokit.engine.cpu.lstm import Layer, Stack
from elmokit.engine.cpu.products import Product
from elmokit.nn.bilm import BiLMState
from elmokit.nn.projected_lstm import LSTMState


def run_alone(
    forward: Stack, backward: Stack, words: Tensor, tokens: Tensor, state: BiLMState
) -> tuple[list[Tensor], BiLMState]:
    """Give each layer's outputs (n, 2P) in the order of the sentence, and the state at the ends.

    ``words`` (U, P) are distinct inputs and ``tokens`` (n,) says which of them stands where;
    ``state`` has one row.
    """
    layers: list[Tensor] = []
    cells, hiddens = [], []
    below: Tensor | None = None  # (n, 2, P) in the order of reading
    for number, (ahead, behind) in enumerate(zip(forward.layers, backward.layers, strict=True)):
        if below is None:
            gates = torch.stack(
                [ahead.input(words)[tokens], behind.input(words)[tokens.flip(0)]], dim=1
            )
        else:
            gates = torch.stack([ahead.input(below[:, 0]), behind.input(below[:, 1])], dim=1)
        cell = torch.cat([part.cell[number] for part in state]).float()  # (2, H)
        hidden = torch.cat([part.hidden[number] for part in state]).float()  # (2, P)
        found = _run_layer(ahead, behind, gates, cell, hidden)
        cells.append(cell)
        hiddens.append(found[-1])
        if below is not None and forward.skip_connections:
            found = found + below
        below = found
        layers.append(torch.cat([found[:, 0], found[:, 1].flip(0)], dim=1))
    ends = [
        LSTMState(
            torch.stack([cell[row : row + 1] for cell in cells]),
            torch.stack([hidden[row : row + 1] for hidden in hiddens]),
        )
        for row in (0, 1)
    ]
    return layers, BiLMState(*ends)


def _run_layer(ahead: Layer, behind: Layer, gates: Tensor, cell: Tensor, hidden: Tensor) -> Tensor:
    """Give the outputs (n, 2, P) for input gates (n, 2, 4H); ``cell`` becomes the last one."""
    outputs = []
    for step_gates in gates.unbind(0):
        total = ahead.recurrent.added_to(step_gates, hidden)
        total[1:] = behind.recurrent.added_to(step_gates, hidden)[1:]
        hidden = ahead.exposed(total, cell)
        if ahead.projection is not None and behind.projection is not None:
            hidden = ahead.clipped(_own_rows(ahead.projection, behind.projection, hidden))
        outputs.append(hidden)
    return torch.stack(outputs).float()


def _own_rows(ahead: Product, behind: Product, rows: Tensor) -> Tensor:
    found = ahead(rows)
    found[1:] = behind(rows)[1:]
    return found
