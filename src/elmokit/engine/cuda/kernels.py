"""The kernels of a step, in Triton.

Each row of a product is summed in the same order whatever stands in the other rows, so a
sentence's numbers do not depend on its batch. What changes from batch to batch (where tokens,
gates and outputs lie) is read from a header in the GPU's memory, because a captured graph repeats
its launches with the arguments that it was captured with.

D directions, W rows, H cell, P output, U distinct words, N tokens, L LSTM layers
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-any-return"

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

# Places in the header.
PLAN = 0
"""Address of the tokens that the next span reads: int32 (STEPS, D, W)."""
WORDS = 1
"""Address of the word that each token is: int32 (N,)."""
GATES = 2
"""Address of what each word adds to the first layer's gates: (U, D, 4H)."""
OUTPUTS = 3
"""Address of the outputs: float32 (L, N, D, P)."""
TOKENS = 4
"""N."""
HEADER_SIZE = 5

_PLAN = tl.constexpr(PLAN)
_WORDS = tl.constexpr(WORDS)
_GATES = tl.constexpr(GATES)
_OUTPUTS = tl.constexpr(OUTPUTS)
_TOKENS = tl.constexpr(TOKENS)


class Tiles(NamedTuple):
    """How a product is cut; a kernel's speed depends on it, its result does not."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int


@triton.jit
def _tanh(x):
    # A small argument would lose its digits in the difference; the polynomial is Cephes' tanhf.
    square = x * x
    bend = -5.70498872745e-3 * square + 2.06390887954e-2
    bend = bend * square - 5.37397155531e-2
    bend = bend * square + 1.33314422036e-1
    bend = bend * square - 3.33332819422e-1
    return tl.where(square < 0.39, x + x * square * bend, 2 * tl.sigmoid(2 * x) - 1)


@triton.jit
def _tokens_read(header, step, direction, width, rows):
    plan = tl.load(header + _PLAN).to(tl.pointer_type(tl.int32))
    return tl.load(plan + (step * tl.num_programs(2) + direction) * width + rows)


@triton.jit
def _words_of(header, tokens):
    words = tl.load(header + _WORDS).to(tl.pointer_type(tl.int32))
    return tl.load(words + tokens, tokens >= 0, other=0).to(tl.int64)


@triton.jit(do_not_specialize=["step"])
def _cell_kernel(
    header, hidden, weight, gates, cell, exposed,
    step, steps, width, capacity, size, clip,
    depth: tl.constexpr, is_first: tl.constexpr, has_clip: tl.constexpr, is_even: tl.constexpr,
    precision: tl.constexpr, tile_rows: tl.constexpr, tile_columns: tl.constexpr,
    tile_depth: tl.constexpr,
):  # fmt: skip
    # Programs that read the same weights run side by side.
    rows = tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)
    units = tl.program_id(1) * tile_columns + tl.arange(0, tile_columns)
    direction = tl.program_id(2)
    inside = (units < size)[None, :]
    tokens = _tokens_read(header, step, direction, width, rows)
    reads = (tokens >= 0)[:, None]

    nothing = tl.zeros((tile_rows, tile_columns), tl.float32)
    input_gate, forget_gate, candidate, output_gate = nothing, nothing, nothing, nothing
    places = tl.arange(0, tile_depth)
    left = hidden + (direction * capacity + rows[:, None]) * depth + places[None, :]
    right = weight + (direction * depth + places[:, None]) * 4 * size + units[None, :]
    for first in range(0, depth, tile_depth):
        if is_even:
            state = tl.load(left)
            at_input = tl.load(right)
            at_forget = tl.load(right + size)
            at_candidate = tl.load(right + 2 * size)
            at_output = tl.load(right + 3 * size)
        else:
            has_place = first + places < depth
            state = tl.load(left, has_place[None, :], other=0.0)
            there = has_place[:, None] & inside
            at_input = tl.load(right, there, other=0.0)
            at_forget = tl.load(right + size, there, other=0.0)
            at_candidate = tl.load(right + 2 * size, there, other=0.0)
            at_output = tl.load(right + 3 * size, there, other=0.0)
        input_gate = tl.dot(state, at_input, input_gate, input_precision=precision)
        forget_gate = tl.dot(state, at_forget, forget_gate, input_precision=precision)
        candidate = tl.dot(state, at_candidate, candidate, input_precision=precision)
        output_gate = tl.dot(state, at_output, output_gate, input_precision=precision)
        left += tile_depth
        right += tile_depth * 4 * size

    if is_first:
        table = tl.load(header + _GATES).to(tl.pointer_type(hidden.dtype.element_ty))
        words = _words_of(header, tokens)
        given = table + (words * tl.num_programs(2) + direction)[:, None] * 4 * size
    else:
        given = gates + ((direction * steps + step) * width + rows[:, None]) * 4 * size
    given += units[None, :]
    there = reads & inside
    input_gate = tl.sigmoid(input_gate + tl.load(given, there, other=0.0).to(tl.float32))
    forget_gate = tl.sigmoid(forget_gate + tl.load(given + size, there, other=0.0).to(tl.float32))
    candidate = _tanh(candidate + tl.load(given + 2 * size, there, other=0.0).to(tl.float32))
    output_gate = tl.sigmoid(
        output_gate + tl.load(given + 3 * size, there, other=0.0).to(tl.float32)
    )
    cells = cell + (direction * capacity + rows[:, None]) * size + units[None, :]
    new = forget_gate * tl.load(cells, there, other=0.0) + input_gate * candidate
    if has_clip:
        new = tl.minimum(tl.maximum(new, -clip), clip)
    tl.store(cells, new, there)
    shown = exposed + (direction * width + rows[:, None]) * size + units[None, :]
    tl.store(shown, output_gate * _tanh(new), inside)


@triton.jit
def _product_kernel(
    inputs, weight, bias, outputs, rows, columns, depth,
    inputs_stride, outputs_stride, outputs_row_stride, outputs_part_stride,
    parts: tl.constexpr, part_depth: tl.constexpr, has_bias: tl.constexpr, is_even: tl.constexpr,
    precision: tl.constexpr, tile_rows: tl.constexpr, tile_columns: tl.constexpr,
    tile_depth: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)).to(tl.int64)
    column = tl.program_id(1) * tile_columns + tl.arange(0, tile_columns)
    direction = tl.program_id(2) // parts
    part = tl.program_id(2) % parts
    has_row = (row < rows)[:, None]
    has_column = (column < columns)[None, :]
    places = tl.arange(0, tile_depth)
    begin = part * part_depth
    left = inputs + direction * inputs_stride + row[:, None] * depth + begin + places[None, :]
    right = weight + (direction * depth + begin + places[:, None]) * columns + column[None, :]
    total = tl.zeros((tile_rows, tile_columns), tl.float32)
    for first in range(0, part_depth, tile_depth):
        if is_even:
            given = tl.load(left, has_row, other=0.0)
            factors = tl.load(right)
        else:
            has_place = begin + first + places < depth
            given = tl.load(left, has_row & has_place[None, :], other=0.0)
            factors = tl.load(right, has_place[:, None] & has_column, other=0.0)
        total = tl.dot(given, factors, total, input_precision=precision)
        left += tile_depth
        right += tile_depth * columns
    if has_bias:
        total += tl.load(bias + direction * columns + column[None, :], has_column, other=0.0)
    place = outputs + part * outputs_part_stride + direction * outputs_stride
    place += row[:, None] * outputs_row_stride + column[None, :]
    tl.store(place, total, has_row & has_column)


@triton.jit(do_not_specialize=["step", "layer"])
def _hidden_kernel(
    header, parts, hidden, below, step, steps, layer, width, capacity, clip,
    size: tl.constexpr, part_count: tl.constexpr, has_clip: tl.constexpr, has_skip: tl.constexpr,
    has_above: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    direction = tl.program_id(2)
    directions = tl.num_programs(2)
    column = tl.arange(0, block)
    inside = column < size
    token = _tokens_read(header, step, direction, width, row).to(tl.int64)
    place = parts + (direction * width + row) * size + column
    value = tl.zeros((block,), tl.float32)
    for _ in tl.static_range(part_count):
        value += tl.load(place, inside, other=0.0).to(tl.float32)
        place += directions * width * size
    if has_clip:
        value = tl.minimum(tl.maximum(value, -clip), clip)
    reads = column < tl.where(token >= 0, size, 0)
    tl.store(hidden + (direction * capacity + row) * size + column, value, reads)
    count = tl.load(header + _TOKENS)
    output = tl.load(header + _OUTPUTS).to(tl.pointer_type(tl.float32))
    output += ((layer * count + token) * directions + direction) * size + column
    if has_skip:
        value += tl.load(output - count * directions * size, reads, other=0.0)
    tl.store(output, value, reads)
    if has_above:
        at = ((direction * steps + step) * width + row) * size + column
        tl.store(below + at, tl.where(reads, value, 0.0), inside)


@triton.jit
def _next_span_kernel(header, bytes_of_span):
    tl.store(header + _PLAN, tl.load(header + _PLAN) + bytes_of_span)


def run_cell(
    header: Tensor,
    *,
    hidden: Tensor,
    weight: Tensor,
    gates: Tensor | None,
    cell: Tensor,
    exposed: Tensor,
    step: int,
    steps: int,
    clip: float | None,
    precision: str,
    tiles: Tiles,
) -> None:
    """Read a token in each row: update ``cell`` (D, capacity, H), write ``exposed`` (D, W, H).

    ``weight`` (D, P, 4H) are the factors of ``hidden`` (D, capacity, P). The inputs' part is in
    ``gates`` (D, steps, W, 4H), or for the first layer with the words.
    """
    directions, width, size = exposed.shape
    depth = hidden.shape[2]
    grid = (width // tiles.rows, triton.cdiv(size, tiles.columns), directions)
    _cell_kernel[grid](
        header, hidden, weight, exposed if gates is None else gates, cell, exposed,
        step, steps, width, hidden.shape[1], size, clip or 0.0,
        depth=depth, is_first=gates is None, has_clip=clip is not None,
        is_even=size % tiles.columns == 0 and depth % tiles.depth == 0,
        precision=precision, tile_rows=tiles.rows, tile_columns=tiles.columns,
        tile_depth=tiles.depth, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


def run_product(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    out: Tensor,
    precision: str,
    tiles: Tiles,
) -> None:
    """Multiply ``inputs`` (D or 1, rows, K) with ``weight`` (D, K, columns).

    ``out`` is (parts, D, rows, columns): the depth is cut into so many parts, which are to be
    summed.
    """
    parts, directions, rows, columns = out.shape
    depth = weight.shape[1]
    part_depth = -(-depth // parts // tiles.depth) * tiles.depth
    grid = (triton.cdiv(rows, tiles.rows), triton.cdiv(columns, tiles.columns), directions * parts)
    _product_kernel[grid](
        inputs, weight, out if bias is None else bias, out, rows, columns, depth,
        0 if len(inputs) == 1 else inputs.stride(0), out.stride(1), out.stride(2), out.stride(0),
        parts=parts, part_depth=part_depth, has_bias=bias is not None,
        is_even=columns % tiles.columns == 0 and part_depth * parts == depth,
        precision=precision, tile_rows=tiles.rows, tile_columns=tiles.columns,
        tile_depth=tiles.depth, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


def run_hidden(
    header: Tensor,
    parts: Tensor,
    *,
    hidden: Tensor,
    below: Tensor | None,
    step: int,
    steps: int,
    layer: int,
    has_skip: bool,
    clip: float | None,
) -> None:
    """Sum ``parts`` (parts, D, W, P), clip them, and write them wherever they are read.

    That is ``hidden`` (D, capacity, P), the outputs of ``layer``, and ``below`` (D, steps, W, P),
    what the layer above is to read in this span.
    """
    count, directions, width, size = parts.shape
    _hidden_kernel[(width, 1, directions)](
        header, parts, hidden, hidden if below is None else below, step, steps, layer, width,
        hidden.shape[1], clip or 0.0,
        size=size, part_count=count, has_clip=clip is not None, has_skip=has_skip,
        has_above=below is not None, block=triton.next_power_of_2(size), num_warps=4,
    )  # fmt: skip


def next_span(header: Tensor, numbers: int) -> None:
    """Go on to the next span, behind the ``numbers`` that this one has read."""
    _next_span_kernel[(1,)](header, numbers * torch.int32.itemsize)
