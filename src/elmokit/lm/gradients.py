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
    """Adds a window's gradients to the parameters'."""

    def __init__(self, objective: BiLMObjective, table: WordTable) -> None:
        self.objective = objective
        self.table = table

    def __call__(
        self, batch: Batch, state: WindowState, dropout: Dropout, scale: float
    ) -> tuple[Tensor, WindowState]:
        """Give the loss of each direction (D,) and the state after the window.

        Gradients are of ``scale`` times the mean loss.
        """
        losses: Losses = self.objective(batch, state, self.table, dropout)
        torch.autograd.backward(losses.mean * scale)
        return losses.of_directions, losses.state


class GraphedGradients:
    """The same, recorded once as a CUDA graph and replayed: a step of many small kernels."""

    def __init__(self, objective: BiLMObjective, table: WordTable, *, dropout: float) -> None:
        self.objective = objective
        self.table = table
        self.dropout = dropout
        self._parameters = [p for p in objective.parameters() if p.requires_grad]
        self._capacity = [0] * len(table.widths)
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(
        self, batch: Batch, state: WindowState, seed: int, scale: float
    ) -> tuple[Tensor, WindowState]:
        """Give what `PlainGradients` gives; ``seed`` decides what is dropped."""
        if not self._fits(batch):
            self._capacity = [
                max(have, _roomy(len(words)))
                for words, have in zip(batch.words, self._capacity, strict=True)
            ]
            self._record(self._padded(batch), state)
        for own, given in zip(_tensors(self._inputs), _tensors(self._padded(batch)), strict=True):
            own.copy_(given, non_blocking=True)
        for own, given in zip(self._before, state, strict=True):
            own.copy_(given)
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
        return self._losses.clone(), WindowState(*(part.clone() for part in self._after))

    def staged(self, batch: Batch) -> Batch:
        """Bring a batch into the form that is copied fastest; another thread may do it ahead."""
        if not self._fits(batch):
            return batch
        padded = self._padded(batch)
        return Batch(
            tuple(words.pin_memory() for words in padded.words),
            *(None if part is None else part.pin_memory() for part in padded[1:]),  # type: ignore[arg-type]
        )

    def _fits(self, batch: Batch) -> bool:
        return all(
            len(words) <= have for words, have in zip(batch.words, self._capacity, strict=True)
        )

    def _record(self, batch: Batch, state: WindowState) -> None:
        self._graph = None  # frees its memory first
        self._inputs = batch.to(state.cell.device)
        self._before = WindowState(*(part.clone() for part in state))
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_RUNS):
                self._run()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        # Another thread may pin memory meanwhile.
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._losses, self._after, self._gradients = self._run()

    def _run(self) -> tuple[Tensor, WindowState, tuple[Tensor, ...]]:
        losses: Losses = self.objective(self._inputs, self._before, self.table, self._drop)
        gradients = torch.autograd.grad(losses.mean, self._parameters)
        return losses.of_directions, losses.state, gradients

    def _drop(self, values: Tensor) -> Tensor:
        return F.dropout(values, self.dropout) if self.dropout else values

    def _padded(self, batch: Batch) -> Batch:
        """Fill each group with word 0 up to its capacity; a full batch stays as it is."""
        if [len(words) for words in batch.words] == self._capacity:
            return batch
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
