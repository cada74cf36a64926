"""The steps of `highway_recurrence` for a GPU, in Triton: all of them in one launch.

A program has some rows and some units of the layer, for all steps. The programs of the same rows
need each other's outputs and wait for one another after each step, so all of them must run at
the same time; where there are more than the GPU can hold, each step is a launch of its own.

T steps, B rows, H cell and output; for the order of the 6H see `highway_recurrence`
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-any-return"

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = (16, 32, 64)
"""Rows of a program: as few as let all programs run at the same time."""
UNITS = 32
DEPTH = 64
WARPS = 4
STAGES = 3


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _wait(arrived, target):
    # What all threads wrote before is seen by whoever sees the sum.
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release", scope="gpu")
    while tl.atomic_add(arrived, 0, sem="acquire", scope="gpu") < target:
        pass
    tl.debug_barrier()


@triton.jit
def _from_hidden(
    left, weight, unit, has_left, has_unit,
    size: tl.constexpr, precision: tl.constexpr,
    tile_rows: tl.constexpr, tile_units: tl.constexpr, tile_depth: tl.constexpr,
):  # fmt: skip
    # What the outputs of the step before add to the gates.
    place = tl.arange(0, tile_depth)
    left += place[None, :]
    right = weight + unit[None, :] * size + place[:, None]
    out = tl.zeros((tile_rows, tile_units), tl.float32)
    highway, into, forget, candidate = out, out, out, out
    for depth in range(0, size, tile_depth):
        has_place = depth + place < size
        there = has_place[:, None] & has_unit
        # Other programs wrote it: this one's own cache must not answer.
        hidden = tl.load(left, has_left & has_place[None, :], other=0.0, cache_modifier=".cg")
        part = tl.load(right, there, other=0.0)
        out = tl.dot(hidden, part, out, input_precision=precision)
        part = tl.load(right + size * size, there, other=0.0)
        highway = tl.dot(hidden, part, highway, input_precision=precision)
        part = tl.load(right + 2 * size * size, there, other=0.0)
        into = tl.dot(hidden, part, into, input_precision=precision)
        part = tl.load(right + 3 * size * size, there, other=0.0)
        forget = tl.dot(hidden, part, forget, input_precision=precision)
        part = tl.load(right + 4 * size * size, there, other=0.0)
        candidate = tl.dot(hidden, part, candidate, input_precision=precision)
        left += tile_depth
        right += tile_depth
    return out, highway, into, forget, candidate


@triton.jit
def _from_later(
    left, weight, unit, has_left, has_unit,
    size: tl.constexpr, precision: tl.constexpr,
    tile_rows: tl.constexpr, tile_units: tl.constexpr, tile_depth: tl.constexpr,
):  # fmt: skip
    # The gradient that comes back through the gates of the next step.
    place = tl.arange(0, tile_depth)
    left += place[None, :]
    right = weight + place[:, None] * size + unit[None, :]
    grad = tl.zeros((tile_rows, tile_units), tl.float32)
    for depth in range(0, 5 * size, tile_depth):
        has_place = depth + place < 5 * size
        later = tl.load(left, has_left & has_place[None, :], other=0.0, cache_modifier=".cg")
        part = tl.load(right, has_place[:, None] & has_unit, other=0.0)
        grad = tl.dot(later, part, grad, input_precision=precision)
        left += tile_depth
        right += tile_depth * size
    return grad


@triton.jit(do_not_specialize=["first", "count", "rows"])
def _forward_kernel(
    gates, cells, hidden, weight, bias, kept, arrived, first, count, rows,
    size: tl.constexpr, has_kept: tl.constexpr, waits: tl.constexpr, precision: tl.constexpr,
    tile_rows: tl.constexpr, tile_units: tl.constexpr, tile_depth: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)
    unit = tl.program_id(1) * tile_units + tl.arange(0, tile_units)
    has_row = (row < rows)[:, None]
    has_unit = (unit < size)[None, :]
    inside = has_row & has_unit
    at = row[:, None].to(tl.int64) * size
    here = at + unit[None, :]
    if has_kept:
        factor = tl.load(kept + here, inside, other=0.0)
    out_bias = tl.load(bias + unit, unit < size, other=0.0)[None, :]
    highway_bias = tl.load(bias + size + unit, unit < size, other=0.0)[None, :]
    into_bias = tl.load(bias + 2 * size + unit, unit < size, other=0.0)[None, :]
    forget_bias = tl.load(bias + 3 * size + unit, unit < size, other=0.0)[None, :]
    candidate_bias = tl.load(bias + 4 * size + unit, unit < size, other=0.0)[None, :]
    # Of the step before; masks keep the first step from reading it.
    state = hidden + (first.to(tl.int64) - 1) * rows * size
    cell = cells + (first.to(tl.int64) - 1) * rows * size + here
    gate = gates + first.to(tl.int64) * rows * 6 * size + 6 * at + unit[None, :]
    for turn in range(count):
        has_before = (row < tl.where(first + turn > 0, rows, 0))[:, None]
        out, highway, into, forget, candidate = _from_hidden(
            state + at, weight, unit, has_before, has_unit,
            size, precision, tile_rows, tile_units, tile_depth,
        )  # fmt: skip
        out += tl.load(gate, inside, other=0.0).to(tl.float32)
        highway += tl.load(gate + size, inside, other=0.0).to(tl.float32)
        into += tl.load(gate + 2 * size, inside, other=0.0).to(tl.float32)
        forget += tl.load(gate + 3 * size, inside, other=0.0).to(tl.float32)
        candidate += tl.load(gate + 4 * size, inside, other=0.0).to(tl.float32)
        out = tl.sigmoid(out + out_bias)
        highway = tl.sigmoid(highway + highway_bias)
        into = tl.sigmoid(into + into_bias)
        forget = tl.sigmoid(forget + forget_bias)
        candidate = _tanh(candidate + candidate_bias)
        past = tl.load(gate + 5 * size, inside, other=0.0).to(tl.float32)
        tl.store(gate, out, inside)
        tl.store(gate + size, highway, inside)
        tl.store(gate + 2 * size, into, inside)
        tl.store(gate + 3 * size, forget, inside)
        tl.store(gate + 4 * size, candidate, inside)
        new = forget * tl.load(cell, has_before & has_unit, other=0.0) + into * candidate
        state += rows * size
        cell += rows * size
        gate += rows * 6 * size
        tl.store(cell, new, inside)
        shown = past + highway * (out * _tanh(new) - past)
        if has_kept:
            shown *= factor
        tl.store(state + here, shown, inside)
        if waits:
            _wait(arrived + tl.program_id(0), (turn + 1) * tl.num_programs(1))


@triton.jit(do_not_specialize=["first", "count", "steps", "rows"])
def _backward_kernel(
    gates, cells, weight, kept, grad_outputs, grad_cells, grads, arrived,
    first, count, steps, rows,
    size: tl.constexpr, has_kept: tl.constexpr, waits: tl.constexpr, precision: tl.constexpr,
    tile_rows: tl.constexpr, tile_units: tl.constexpr, tile_depth: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)
    unit = tl.program_id(1) * tile_units + tl.arange(0, tile_units)
    has_row = (row < rows)[:, None]
    has_unit = (unit < size)[None, :]
    inside = has_row & has_unit
    at = row[:, None].to(tl.int64) * size
    here = at + unit[None, :]
    if has_kept:
        factor = tl.load(kept + here, inside, other=0.0)
    last = (steps - 1 - first).to(tl.int64)
    grad_output = grad_outputs + last * rows * size + here
    cell = cells + last * rows * size + here
    gate = gates + last * rows * 6 * size + 6 * at + unit[None, :]
    grad_gate = grads + last * rows * 6 * size
    for turn in range(count):
        has_after = (row < tl.where(first + turn > 0, rows, 0))[:, None]
        has_before = (row < tl.where(first + turn + 1 < steps, rows, 0))[:, None]
        grad = _from_later(
            grad_gate + rows * 6 * size + 6 * at, weight, unit, has_after, has_unit,
            size, precision, tile_rows, tile_units, tile_depth,
        )  # fmt: skip
        grad += tl.load(grad_output, inside, other=0.0).to(tl.float32)
        if has_kept:
            grad *= factor
        out = tl.load(gate, inside, other=0.0).to(tl.float32)
        highway = tl.load(gate + size, inside, other=0.0).to(tl.float32)
        into = tl.load(gate + 2 * size, inside, other=0.0).to(tl.float32)
        forget = tl.load(gate + 3 * size, inside, other=0.0).to(tl.float32)
        candidate = tl.load(gate + 4 * size, inside, other=0.0).to(tl.float32)
        past = tl.load(gate + 5 * size, inside, other=0.0).to(tl.float32)
        old = tl.load(cell - rows * size, has_before & has_unit, other=0.0)
        squashed = _tanh(tl.load(cell, inside, other=0.0))
        exposed = grad * highway
        grad_cell = tl.load(grad_cells + here, has_after & has_unit, other=0.0)
        grad_cell += exposed * out * (1 - squashed * squashed)
        tl.store(grad_cells + here, grad_cell * forget, inside)
        new = grad_gate + 6 * at + unit[None, :]
        tl.store(new, exposed * squashed * out * (1 - out), inside)
        difference = out * squashed - past
        tl.store(new + size, grad * difference * highway * (1 - highway), inside)
        tl.store(new + 2 * size, grad_cell * candidate * into * (1 - into), inside)
        tl.store(new + 3 * size, grad_cell * old * forget * (1 - forget), inside)
        tl.store(new + 4 * size, grad_cell * into * (1 - candidate * candidate), inside)
        tl.store(new + 5 * size, grad * (1 - highway), inside)
        grad_output -= rows * size
        cell -= rows * size
        gate -= rows * 6 * size
        grad_gate -= rows * 6 * size
        if waits:
            _wait(arrived + tl.program_id(0), (turn + 1) * tl.num_programs(1))


def forward_(
    gates: Tensor,
    cells: Tensor,
    hidden: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    kept: Tensor | None,
) -> None:
    """See `highway_recurrence.forward_`."""
    steps, rows, _ = gates.shape
    size = recurrent.shape[1]
    tile_rows, grid, waits = _plan(gates, rows, size)
    arrived = torch.zeros(grid[0], dtype=torch.int32, device=gates.device)
    for first, count in _launches(steps, waits):
        _forward_kernel[grid](
            gates, cells, hidden, recurrent.contiguous(), bias, cells if kept is None else kept,
            arrived, first, count, rows,
            size=size, has_kept=kept is not None, waits=waits, precision=_precision(gates.dtype),
            tile_rows=tile_rows, tile_units=UNITS, tile_depth=DEPTH,
            num_warps=WARPS, num_stages=STAGES,
        )  # fmt: skip


def backward(
    gates: Tensor, cells: Tensor, recurrent: Tensor, kept: Tensor | None, grad_outputs: Tensor
) -> Tensor:
    """See `highway_recurrence.backward`."""
    steps, rows, _ = gates.shape
    size = recurrent.shape[1]
    tile_rows, grid, waits = _plan(gates, rows, size)
    arrived = torch.zeros(grid[0], dtype=torch.int32, device=gates.device)
    grads = torch.empty_like(gates)  # (T, B, 6H)
    grad_cells = torch.empty_like(cells[0])  # (B, H)
    for first, count in _launches(steps, waits):
        _backward_kernel[grid](
            gates, cells, recurrent.contiguous(), cells if kept is None else kept,
            grad_outputs, grad_cells, grads, arrived, first, count, steps, rows,
            size=size, has_kept=kept is not None, waits=waits, precision=_precision(gates.dtype),
            tile_rows=tile_rows, tile_units=UNITS, tile_depth=DEPTH,
            num_warps=WARPS, num_stages=STAGES,
        )  # fmt: skip
    return grads


def _plan(gates: Tensor, rows: int, size: int) -> tuple[int, tuple[int, int], bool]:
    """Give the rows of a program, the grid, and whether all of it runs at the same time."""
    columns = triton.cdiv(size, UNITS)
    room = 0  # Triton's interpreter, on a CPU, runs one program after another
    if gates.is_cuda:
        room = torch.cuda.get_device_properties(gates.device).multi_processor_count
    for tile_rows in ROWS:
        blocks = triton.cdiv(rows, tile_rows)
        if blocks * columns <= room:
            break
    return tile_rows, (blocks, columns), blocks * columns <= room


def _launches(steps: int, waits: bool) -> list[tuple[int, int]]:
    """Give the first step and the number of steps of each launch."""
    return [(0, steps)] if waits else [(step, 1) for step in range(steps)]


def _precision(dtype: torch.dtype) -> str:
    """Follow torch's choice for products of float32; three of tf32 come near a whole one."""
    if dtype != torch.float32:
        return "ieee"
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"
