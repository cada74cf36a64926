"""One training step's forward and backward pass, as plain calls or as a CUDA graph.

D directions, T steps, B rows, U distinct words
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.lm.objective import Batch, BiLMObjective, Dropout, Losses, WindowState
from elmokit.lm.word_table import WordTable

# A graph has room for so many more distinct words than the window it was recorded with.
SPARE_ROOM = 0.1
WARM_UP_RUNS = 3


class PlainGradients:
    """Adds a window's gradients to the parameters' and carries the state on."""

    def __init__(self, objective: BiLMObjective, table: WordTable, *, rows: int) -> None:
        self.objective = objective
        self.table = table
        self.state = objective.zero_state(rows)

    def __call__(self, batch: Batch, dropout: Dropout, scale: float) -> Tensor:
        """Give the loss of each direction (D,); gradients are of ``scale`` times their mean."""
        losses: Losses = self.objective(batch, self.state, self.table, dropout)
        torch.autograd.backward(losses.mean * scale)
        self.state = losses.state
        return losses.of_directions


class GraphedGradients:
    """The same, recorded once as a CUDA graph and replayed: a step of many small kernels."""

    def __init__(
        self, objective: BiLMObjective, table: WordTable, *, rows: int, dropout: float
    ) -> None:
        self.objective = objective
        self.table = table
        self.dropout = dropout
        self._parameters = [p for p in objective.parameters() if p.requires_grad]
        self._state = objective.zero_state(rows)
        self._capacity = [0] * len(table.widths)
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def state(self) -> WindowState:
        """The rows' state after the last window."""
        return self._state

    @state.setter
    def state(self, state: WindowState) -> None:
        for own, given in zip(self._state, state, strict=True):
            own.copy_(given)

    def __call__(self, batch: Batch, seed: int, scale: float) -> Tensor:
        """Give the loss of each direction (D,); ``seed`` decides what is dropped."""
        needed = [len(words) for words in batch.words]
        if any(need > have for need, have in zip(needed, self._capacity, strict=True)):
            self._capacity = [
                max(have, _roomy(need)) for need, have in zip(needed, self._capacity, strict=True)
            ]
            self._record(self._padded(batch))
        for own, given in zip(_tensors(self._inputs), _tensors(self._padded(batch)), strict=True):
            own.copy_(given, non_blocking=True)
        torch.cuda.manual_seed(seed)
        assert self._graph is not None
        self._graph.replay()
        if scale != 1:
            torch._foreach_mul_(list(self._gradients), scale)
        if self._parameters[0].grad is None:
            # The recorded gradients themselves where they are not added to anything.
            for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
                parameter.grad = gradient if scale == 1 else gradient.clone()
        else:
            for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
                assert parameter.grad is not None
                parameter.grad += gradient
        return self._losses

    def _record(self, batch: Batch) -> None:
        device = self._state.cell.device
        self._graph = None  # frees its memory first
        self._inputs = batch.to(device)
        before = [tensor.clone() for tensor in self._state]
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_RUNS):
                self._run()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._losses, self._gradients = self._run()
        self.state = WindowState(*before)

    def _run(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        losses: Losses = self.objective(self._inputs, self._state, self.table, self._drop)
        gradients = torch.autograd.grad(losses.mean, self._parameters)
        self.state = losses.state
        return losses.of_directions, gradients

    def _drop(self, values: Tensor) -> Tensor:
        return F.dropout(values, self.dropout) if self.dropout else values

    def _padded(self, batch: Batch) -> Batch:
        """Fill each group with word 0 up to its capacity."""
        words, places, first = [], [], 0
        for group, capacity in zip(batch.words, self._capacity, strict=True):
            words.append(F.pad(group, (0, capacity - len(group))))
            places.append(torch.arange(first, first + len(group)))
            first += capacity
        return batch._replace(words=tuple(words), places=torch.cat(places)[batch.places])


def _roomy(count: int) -> int:
    """Leave room for a window with more distinct words."""
    return -(-int(count * (1 + SPARE_ROOM)) // 64) * 64 + 64


def _tensors(batch: Batch) -> list[Tensor]:
    return [
        *batch.words,
        *(part for part in batch[1:] if part is not None),
    ]


def row_dropout(share: float, *, seed: int, rows: slice, all_rows: int) -> Dropout:
    """Make a dropout whose choice depends on the seed and a row's number in the global batch.

    Processes that share a batch then drop what one process with all rows would drop.
    """
    if not share:
        return _identity
    generator = torch.Generator().manual_seed(seed)

    def drop(values: Tensor) -> Tensor:
        directions, steps, _, size = values.shape
        chance = torch.rand(directions, steps, all_rows, size, generator=generator)
        kept = (chance[:, :, rows] >= share).to(values.device, values.dtype)
        return values * (kept / (1 - share))

    return drop


def _identity(values: Tensor) -> Tensor:
    return values
