"""Some steps of all layers over a fixed number of rows: what a graph holds.

D directions, W rows, C rows that there is memory for, H cell, P output, L LSTM layers
"""

from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.engine.cuda import kernels
from elmokit.engine.cuda.plan import DIRECTIONS, NOTHING, STEPS
from elmokit.engine.cuda.tiling import (
    PROJECTION_PARTS,
    cell_tiles,
    input_tiles,
    projection_tiles,
)
from elmokit.engine.cuda.weights import LayerWeights


class SpanState(NamedTuple):
    """What rows remember between two spans."""

    cell: Tensor
    """(L, D, W, H)"""
    hidden: Tensor
    """(L, D, W, P)"""


class SpanRunner:
    """Runs spans from the states that it holds, and leaves the states after them."""

    def __init__(
        self, layers: list[LayerWeights], *, skip_connections: bool, precision: str, capacity: int
    ) -> None:
        """``capacity`` is the number of rows for which there is memory, C."""
        self._layers = layers
        self._skip_connections = skip_connections
        self._precision = precision
        self.capacity = capacity
        like = layers[0].recurrent
        _, self._output, gates = like.shape
        self._size = gates // 4
        self._dtype = like.dtype
        depth = len(layers)
        self._header = torch.zeros(kernels.HEADER_SIZE, dtype=torch.int64, device=like.device)
        self._held = SpanState(
            like.new_zeros((depth, DIRECTIONS, capacity, self._size), dtype=torch.float32),
            like.new_zeros(depth, DIRECTIONS, capacity, self._output),
        )  # (L, D, C, H), (L, D, C, P)
        self._exposed = like.new_empty(DIRECTIONS * capacity * self._size)
        self._parts = like.new_empty(
            PROJECTION_PARTS * DIRECTIONS * capacity * self._output, dtype=torch.float32
        )
        self._below = like.new_empty(DIRECTIONS * STEPS * capacity * self._output)
        self._gates = like.new_empty(DIRECTIONS * STEPS * capacity * gates if depth > 1 else 0)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def put(self, state: SpanState, rows: int) -> None:
        """Let the first ``rows`` go on from ``state``, which may be one row for all."""
        for held, given in zip(self._held, state, strict=True):
            held[:, :, :rows] = given

    def state(self, rows: int) -> SpanState:
        """Give the state of the first ``rows``, in memory that the next span overwrites."""
        return SpanState(*(held[:, :, :rows] for held in self._held))

    def begin(self, header: Tensor) -> None:
        """Let the next spans read what ``header`` names."""
        self._header.copy_(header)

    def __call__(self, width: int) -> bool:
        """Run the next span, of ``width`` rows; say whether a graph had to be captured for it."""
        if self._header.device.type != "cuda":
            self._run(width)
            return False
        is_new = width not in self._graphs
        if is_new:
            self._graphs[width] = self._captured(width)
        self._graphs[width].replay()
        return is_new

    def _captured(self, width: int) -> torch.cuda.CUDAGraph:
        # Kernels are compiled when they are first launched, which a capture does not allow. The
        # launch before it reads no token, so it changes no state; both move the header on.
        header = self._header.clone()
        numbers = STEPS * DIRECTIONS * width
        idle = torch.full((numbers,), NOTHING, dtype=torch.int32, device=header.device)
        self._header[kernels.PLAN] = idle.data_ptr()
        self._run(width)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._run(width)
        self._header.copy_(header)
        return graph

    def _run(self, width: int) -> None:
        for number, weights in enumerate(self._layers):
            gates = None if number == 0 else self._input_gates(weights, width)
            below = (
                self._view(self._below, STEPS, width, self._output)
                if number + 1 < len(self._layers)
                else None
            )
            for step in range(STEPS):
                self._step(number, weights, gates, below, width, step)
        kernels.next_span(self._header, STEPS * DIRECTIONS * width)

    def _input_gates(self, weights: LayerWeights, width: int) -> Tensor:
        gates = self._view(self._gates, STEPS, width, 4 * self._size)
        kernels.run_product(
            self._view(self._below, STEPS * width, self._output),
            weights.input,
            weights.bias,
            out=gates.view(1, DIRECTIONS, STEPS * width, 4 * self._size),
            precision=self._precision,
            tiles=input_tiles(self._dtype),
        )
        return gates

    def _step(
        self,
        number: int,
        weights: LayerWeights,
        gates: Tensor | None,
        below: Tensor | None,
        width: int,
        step: int,
    ) -> None:
        exposed = self._view(self._exposed, width, self._size)
        kernels.run_cell(
            self._header,
            hidden=self._held.hidden[number],
            weight=weights.recurrent,
            gates=gates,
            cell=self._held.cell[number],
            exposed=exposed,
            step=step,
            steps=STEPS,
            clip=weights.cell_clip,
            precision=self._precision,
            tiles=cell_tiles(width, self._dtype),
        )
        parts = exposed[None]
        if weights.projection is not None:
            size = PROJECTION_PARTS * DIRECTIONS * width * self._output
            parts = self._parts[:size].view(PROJECTION_PARTS, DIRECTIONS, width, self._output)
            kernels.run_product(
                exposed,
                weights.projection,
                None,
                out=parts,
                precision=self._precision,
                tiles=projection_tiles(width, self._dtype),
            )
        kernels.run_hidden(
            self._header,
            parts,
            hidden=self._held.hidden[number],
            below=below,
            step=step,
            steps=STEPS,
            layer=number,
            has_skip=self._skip_connections and number > 0,
            clip=weights.projection_clip,
        )

    @staticmethod
    def _view(memory: Tensor, *shape: int) -> Tensor:
        """Give the front of some memory as (D, *shape)."""
        numbers = DIRECTIONS
        for size in shape:
            numbers *= size
        return memory[:numbers].view(DIRECTIONS, *shape)
