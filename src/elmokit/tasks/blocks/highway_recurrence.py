"""All steps of an LSTM layer with a highway connection, forwards and backwards.

cuDNN has no such layer, and under autograd every step would be some twenty small kernels. Here
the inputs of all steps are one product, and so are the gradients of the weights; what is left of
a step is one product and a few pointwise operations. On a GPU all steps together are one kernel
(`highway_recurrence_triton`). Tests hold outputs and gradients equal to a plain layer's.

T steps, B rows, I input, H cell and output. The parts of a step's 6H numbers are, in this order,
the output gate, the highway gate, the input gate, the forget gate, the candidate, and the input
as it is carried past the cell: those of one gradient stand together, and so do the sigmoids.
"""

import importlib.util
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def run_layer(
    inputs: Tensor,
    *,
    input_weight: Tensor,
    recurrent_weight: Tensor,
    bias: Tensor,
    kept: Tensor | None,
) -> Tensor:
    """Map (T, B, I) to (T, B, H), from a state of zeros.

    ``input_weight`` is (6H, I), ``recurrent_weight`` (5H, H), ``bias`` (5H,); ``kept`` (B, H)
    are the factors of dropout, alike at every step. Products are made in the type of ``inputs``;
    the cell stays in float32.
    """
    outputs: Tensor = _HighwayLayer.apply(  # type: ignore[no-untyped-call]
        inputs, input_weight, recurrent_weight, bias, kept
    )
    return outputs


class _HighwayLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        inputs: Tensor,
        input_weight: Tensor,
        recurrent_weight: Tensor,
        bias: Tensor,
        kept: Tensor | None,
    ) -> Tensor:
        steps, rows, _ = inputs.shape
        size = recurrent_weight.shape[1]
        dtype = inputs.dtype
        at_input, recurrent = input_weight.to(dtype), recurrent_weight.to(dtype)
        gates = inputs.flatten(0, 1) @ at_input.t()
        gates = gates.view(steps, rows, 6 * size)  # (T, B, 6H), activated step by step
        wide = torch.promote_types(dtype, torch.float32)
        cells = inputs.new_empty(steps, rows, size, dtype=wide)  # (T, B, H)
        hidden = inputs.new_empty(steps, rows, size)  # (T, B, H)
        if _has_kernels(gates):
            from elmokit.tasks.blocks import highway_recurrence_triton

            highway_recurrence_triton.forward_(gates, cells, hidden, recurrent, bias, kept)
        else:
            forward_(gates, cells, hidden, recurrent, bias, kept)
        context.save_for_backward(inputs, at_input, recurrent, gates, cells, hidden, kept)
        context.types = input_weight.dtype, recurrent_weight.dtype, bias.dtype
        return hidden

    @staticmethod
    @once_differentiable
    def backward(context: Any, grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        inputs, at_input, recurrent, gates, cells, hidden, kept = context.saved_tensors
        input_type, recurrent_type, bias_type = context.types
        rows = inputs.shape[1]
        grad_outputs = grad_outputs.to(gates.dtype).contiguous()
        if _has_kernels(gates):
            from elmokit.tasks.blocks import highway_recurrence_triton

            grads = highway_recurrence_triton.backward(gates, cells, recurrent, kept, grad_outputs)
        else:
            grads = backward(gates, cells, recurrent, kept, grad_outputs)  # (T, B, 6H)
        grads = grads.flatten(0, 1)  # (T*B, 6H)
        grad_inputs = (
            (grads @ at_input).view_as(inputs) if context.needs_input_grad[0] else None
        )  # (T, B, I)
        gated = grads[:, : len(recurrent)]  # (T*B, 5H)
        return (
            grad_inputs,
            _wide_product(grads.t(), inputs.flatten(0, 1), input_type),
            # Nothing stands before the first step.
            _wide_product(gated[rows:].t(), hidden[:-1].flatten(0, 1), recurrent_type),
            gated.sum(dim=0, dtype=bias_type),
            None,
        )


def forward_(
    gates: Tensor,
    cells: Tensor,
    hidden: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    kept: Tensor | None,
) -> None:
    """Activate ``gates`` (T, B, 6H), which hold the inputs' part, and fill the states after them.

    ``cells`` and ``hidden`` are (T, B, H).
    """
    size = recurrent.shape[1]
    columns = recurrent.t()  # (H, 5H)
    gates[:, :, : 5 * size] += bias
    for step, parts in enumerate(gates.unbind(0)):
        gated = parts[:, : 5 * size]
        if step > 0:
            torch.addmm(gated, hidden[step - 1], columns, out=gated)
        parts[:, : 4 * size].sigmoid_()
        parts[:, 4 * size : 5 * size].tanh_()
        out, highway, into, forget, candidate, past = torch.split(parts, size, dim=1)
        cell = cells[step]
        torch.mul(into.to(cell.dtype), candidate, out=cell)
        if step > 0:
            cell.addcmul_(cells[step - 1], forget)
        exposed = cell.tanh().mul_(out).to(past.dtype)  # (B, H)
        torch.lerp(past, exposed, highway, out=hidden[step])
        if kept is not None:
            hidden[step] *= kept


def backward(
    gates: Tensor, cells: Tensor, recurrent: Tensor, kept: Tensor | None, grad_outputs: Tensor
) -> Tensor:
    """Give the gradient (T, B, 6H) of what was activated to ``gates``, from that of the outputs.

    The part that does not wait for the next step is made for all steps at once: a gradient is
    that of the output or of the cell, times a factor.
    """
    size = recurrent.shape[1]
    steps, rows, _ = gates.shape
    out, highway, into, forget, candidate, past = torch.split(gates.to(cells.dtype), size, dim=2)
    squashed = cells.tanh()  # (T, B, H)
    before = torch.nn.functional.pad(cells[:-1], (0, 0, 0, 0, 1, 0))  # (T, B, H)
    factors = torch.stack(
        [
            highway * squashed * out * (1 - out),
            (out * squashed - past) * highway * (1 - highway),
            candidate * into * (1 - into),
            before * forget * (1 - forget),
            into * (1 - candidate * candidate),
            1 - highway,
        ],
        dim=2,
    )  # (T, B, 6, H)
    to_cell = highway * out * (1 - squashed * squashed)  # (T, B, H)
    if kept is not None:
        to_cell *= kept
        factors[:, :, [0, 1, 5]] *= kept[:, None]
    grads = gates.new_empty(steps, rows, 6, size)  # (T, B, 6, H)
    grad_cell = torch.zeros_like(cells[0])  # (B, H)
    grad = grad_outputs[-1]  # (B, H)
    for step in reversed(range(steps)):
        grad_cell.addcmul_(grad, to_cell[step])
        grads[step] = factors[step]
        grads[step, :, 0:2] *= grad[:, None]
        grads[step, :, 2:5] *= grad_cell[:, None]
        grads[step, :, 5] *= grad
        grad_cell *= forget[step]
        if step > 0:
            gated = grads[step].flatten(1)[:, : 5 * size]
            grad = torch.addmm(grad_outputs[step - 1], gated, recurrent)
    return grads.flatten(2)


def _wide_product(first: Tensor, second: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply with a result in the weights' own type, which sums of all tokens deserve."""
    if first.is_cuda and first.dtype != dtype:
        return torch.mm(first, second, out_dtype=dtype)
    return (first @ second).to(dtype)


def _has_kernels(gates: Tensor) -> bool:
    return gates.is_cuda and gates.dtype != torch.float64 and _has_triton()


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
