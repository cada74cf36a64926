"""The pointwise kernels of `lstm_cell` for a GPU, in Triton: one pass over memory each.

D directions, B rows, H cell, P output
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-any-return"

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit
def _forward_kernel(
    gates, cell, keep, new_cell, exposed,
    rows, size, gates_stride, cell_stride, keep_stride, new_cell_stride, exposed_stride,
    clip, has_clip: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(1)
    direction = tl.program_id(2)
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < size
    gate = gates + direction * gates_stride + row.to(tl.int64) * 4 * size + column
    input_gate = tl.sigmoid(tl.load(gate, inside).to(tl.float32))
    forget_gate = tl.sigmoid(tl.load(gate + size, inside).to(tl.float32))
    candidate = _tanh(tl.load(gate + 2 * size, inside).to(tl.float32))
    output_gate = tl.sigmoid(tl.load(gate + 3 * size, inside).to(tl.float32))
    kept = tl.load(keep + direction * keep_stride + row)
    place = row.to(tl.int64) * size + column
    old = tl.load(cell + direction * cell_stride + place, inside) * kept
    new = forget_gate * old + input_gate * candidate
    if has_clip:
        new = tl.minimum(tl.maximum(new, -clip), clip)
    tl.store(new_cell + direction * new_cell_stride + place, new, inside)
    tl.store(exposed + direction * exposed_stride + place, output_gate * _tanh(new), inside)
    tl.store(gate, input_gate, inside)
    tl.store(gate + size, forget_gate, inside)
    tl.store(gate + 2 * size, candidate, inside)
    tl.store(gate + 3 * size, output_gate, inside)


@triton.jit
def _backward_kernel(
    gates, cell, new_cell, keep, grad_exposed, grad_cell,
    rows, size, gates_stride, cell_stride, new_cell_stride, keep_stride,
    grad_exposed_stride, grad_cell_stride,
    clip, has_clip: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(1)
    direction = tl.program_id(2)
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < size
    gate = gates + direction * gates_stride + row.to(tl.int64) * 4 * size + column
    input_gate = tl.load(gate, inside).to(tl.float32)
    forget_gate = tl.load(gate + size, inside).to(tl.float32)
    candidate = tl.load(gate + 2 * size, inside).to(tl.float32)
    output_gate = tl.load(gate + 3 * size, inside).to(tl.float32)
    kept = tl.load(keep + direction * keep_stride + row)
    place = row.to(tl.int64) * size + column
    old = tl.load(cell + direction * cell_stride + place, inside) * kept
    new = tl.load(new_cell + direction * new_cell_stride + place, inside)
    squashed = _tanh(new)
    grad = tl.load(grad_exposed + direction * grad_exposed_stride + place, inside).to(tl.float32)
    cell_place = grad_cell + direction * grad_cell_stride + place
    grad_new = tl.load(cell_place, inside) + grad * output_gate * (1 - squashed * squashed)
    if has_clip:
        grad_new = tl.where(tl.abs(new) < clip, grad_new, 0.0)
    tl.store(cell_place, grad_new * forget_gate * kept, inside)
    tl.store(gate, grad_new * candidate * input_gate * (1 - input_gate), inside)
    tl.store(gate + size, grad_new * old * forget_gate * (1 - forget_gate), inside)
    tl.store(gate + 2 * size, grad_new * input_gate * (1 - candidate * candidate), inside)
    tl.store(gate + 3 * size, grad * squashed * output_gate * (1 - output_gate), inside)


@triton.jit
def _clip_and_carry_kernel(
    outputs, keep, carried, rows, width, outputs_stride, keep_stride, carried_stride,
    clip, has_clip: tl.constexpr, has_keep: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    index = tl.program_id(0) * block + tl.arange(0, block)
    inside = index < rows * width
    value = tl.load(outputs + direction * outputs_stride + index, inside)
    if has_clip:
        value = tl.minimum(tl.maximum(value.to(tl.float32), -clip), clip)
        tl.store(outputs + direction * outputs_stride + index, value, inside)
    if has_keep:
        value = value * tl.load(keep + direction * keep_stride + index // width, inside)
    tl.store(carried + direction * carried_stride + index, value, inside)


@triton.jit
def _unclip_kernel(
    grad, outputs, grad_carried, keep,
    rows, width, grad_stride, outputs_stride, grad_carried_stride, keep_stride,
    clip, has_clip: tl.constexpr, has_next: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    index = tl.program_id(0) * block + tl.arange(0, block)
    inside = index < rows * width
    place = grad + direction * grad_stride + index
    value = tl.load(place, inside).to(tl.float32)
    if has_next:
        kept = tl.load(keep + direction * keep_stride + index // width, inside)
        later = tl.load(grad_carried + direction * grad_carried_stride + index, inside)
        value += kept * later.to(tl.float32)
    if has_clip:
        output = tl.load(outputs + direction * outputs_stride + index, inside).to(tl.float32)
        value = tl.where(tl.abs(output) < clip, value, 0.0)
    tl.store(place, value, inside)


def forward_(
    gates: Tensor,
    cell: Tensor,
    keep: Tensor,
    *,
    new_cell: Tensor,
    exposed: Tensor,
    clip: float | None,
) -> None:
    """See `lstm_cell.forward_`."""
    directions, rows, size = cell.shape
    _forward_kernel[(triton.cdiv(size, BLOCK), rows, directions)](
        gates, cell, keep, new_cell, exposed,
        rows, size, gates.stride(0), cell.stride(0), keep.stride(0), new_cell.stride(0),
        exposed.stride(0), clip or 0.0, has_clip=clip is not None, block=BLOCK,
    )  # fmt: skip


def clip_and_carry_(
    outputs: Tensor, next_keep: Tensor | None, *, carried: Tensor, clip: float | None
) -> None:
    """See `lstm_cell.clip_and_carry_`."""
    directions, rows, width = outputs.shape
    keep = outputs if next_keep is None else next_keep
    _clip_and_carry_kernel[(triton.cdiv(rows * width, BLOCK), directions)](
        outputs, keep, carried, rows, width, outputs.stride(0), keep.stride(0),
        carried.stride(0), clip or 0.0, has_clip=clip is not None,
        has_keep=next_keep is not None, block=BLOCK,
    )  # fmt: skip


def unclip_(
    grad: Tensor,
    outputs: Tensor,
    grad_carried: Tensor | None,
    next_keep: Tensor | None,
    *,
    clip: float | None,
) -> None:
    """See `lstm_cell.unclip_`."""
    directions, rows, width = outputs.shape
    later = grad if grad_carried is None else grad_carried
    keep = grad if next_keep is None else next_keep
    _unclip_kernel[(triton.cdiv(rows * width, BLOCK), directions)](
        grad, outputs, later, keep, rows, width, grad.stride(0), outputs.stride(0),
        later.stride(0), keep.stride(0), clip or 0.0, has_clip=clip is not None,
        has_next=grad_carried is not None and next_keep is not None, block=BLOCK,
    )  # fmt: skip


def backward_(
    gates: Tensor,
    cell: Tensor,
    new_cell: Tensor,
    keep: Tensor,
    *,
    grad_exposed: Tensor,
    grad_cell: Tensor,
    clip: float | None,
) -> None:
    """See `lstm_cell.backward_`."""
    directions, rows, size = cell.shape
    _backward_kernel[(triton.cdiv(size, BLOCK), rows, directions)](
        gates, cell, new_cell, keep, grad_exposed, grad_cell,
        rows, size, gates.stride(0), cell.stride(0), new_cell.stride(0), keep.stride(0),
        grad_exposed.stride(0), grad_cell.stride(0), clip or 0.0, has_clip=clip is not None,
        block=BLOCK,
    )  # fmt: skip
