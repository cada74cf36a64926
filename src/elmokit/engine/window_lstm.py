"""A window of text through one projected LSTM layer, both directions at once, for training.

The plain path is `nn.ProjectedLSTM` under autograd. It makes the products of the weights'
gradients at every step and one small kernel after another; here the two directions share each
product, and all products that need not wait for a step (inputs, weight gradients) are made once
for the whole window. Tests hold the outputs and gradients equal to the plain path's.

D directions, T steps, B rows, I input, H cell, P output (H where there is no projection)
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elmokit.engine import lstm_cell


class LayerWeights(NamedTuple):
    """One layer's parameters of every direction, stacked; gate order i, f, g, o."""

    input: Tensor
    """(D, 4H, I)"""
    recurrent: Tensor
    """(D, 4H, P)"""
    bias: Tensor
    """(D, 4H), the forget bias included."""
    projection: Tensor | None
    """(D, P, H)"""


class LayerLimits(NamedTuple):
    """Where the cell and the projected output are clipped; None: nowhere."""

    cell: float | None
    projection: float | None


class LayerOutput(NamedTuple):
    """What a window gives."""

    hidden: Tensor
    """(D, T, B, P), in the type of the products."""
    last_cell: Tensor
    """(D, B, H) float32; carries no gradient."""
    last_hidden: Tensor
    """(D, B, P) float32; carries no gradient."""


def run_layer(
    inputs: Tensor,
    weights: LayerWeights,
    limits: LayerLimits,
    *,
    cell: Tensor,
    hidden: Tensor,
    keep: Tensor,
) -> LayerOutput:
    """Run (D, T, B, I) from the state ``cell`` (D, B, H) and ``hidden`` (D, B, P).

    ``keep`` (D, T, B) is 0 where a row begins anew at a step, 1 elsewhere. Products are made in
    the type of ``inputs``; sums of the cell stay in float32.
    """
    outputs, last_cell, last_hidden = _WindowLSTM.apply(  # type: ignore[no-untyped-call]
        inputs, *weights, limits, cell, hidden, keep
    )
    return LayerOutput(outputs, last_cell, last_hidden)


class _WindowLSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        inputs: Tensor,
        input_weight: Tensor,
        recurrent_weight: Tensor,
        bias: Tensor,
        projection_weight: Tensor | None,
        limits: LayerLimits,
        cell: Tensor,
        hidden: Tensor,
        keep: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        directions, steps, rows, _ = inputs.shape
        cells_per_row, width = recurrent_weight.shape[1] // 4, recurrent_weight.shape[2]
        dtype = inputs.dtype
        wide_input = input_weight.to(dtype)  # (D, 4H, I)
        wide_recurrent = recurrent_weight.to(dtype)  # (D, 4H, P)
        projection = None if projection_weight is None else projection_weight.to(dtype)

        # Becomes the activated gates step by step, and the gates' gradient in `backward`.
        gates = torch.baddbmm(
            bias[:, None].to(dtype), inputs.flatten(1, 2), wide_input.transpose(1, 2)
        ).view(directions, steps, rows, 4 * cells_per_row)  # (D, T, B, 4H)
        cells = inputs.new_empty(
            directions, steps + 1, rows, cells_per_row, dtype=torch.float32
        )  # (D, T+1, B, H)
        # What each step reads of the step before it: zero where a row begins anew.
        carried = inputs.new_empty(directions, steps + 1, rows, width)  # (D, T+1, B, P)
        outputs = inputs.new_empty(directions, steps, rows, width)  # (D, T, B, P)
        exposed = (
            outputs
            if projection is None
            else inputs.new_empty(directions, steps, rows, cells_per_row)
        )  # (D, T, B, H): the output gate times the cell
        cells[:, 0] = cell
        carried[:, 0] = hidden * keep[:, 0, :, None]
        recurrent_columns = wide_recurrent.transpose(1, 2)  # (D, P, 4H)
        projection_columns = None if projection is None else projection.transpose(1, 2)
        for step in range(steps):
            step_gates = gates[:, step]
            torch.baddbmm(step_gates, carried[:, step], recurrent_columns, out=step_gates)
            lstm_cell.forward_(
                step_gates,
                cells[:, step],
                keep[:, step],
                new_cell=cells[:, step + 1],
                exposed=exposed[:, step],
                clip=limits.cell,
            )
            if projection_columns is not None:
                torch.bmm(exposed[:, step], projection_columns, out=outputs[:, step])
            lstm_cell.clip_and_carry_(
                outputs[:, step],
                keep[:, step + 1] if step + 1 < steps else None,
                carried=carried[:, step + 1],
                clip=limits.projection if projection is not None else None,
            )
        context.save_for_backward(
            inputs, wide_input, wide_recurrent, projection, gates, cells, carried, outputs,
            exposed, keep,
        )  # fmt: skip
        context.limits = limits
        last_cell, last_hidden = cells[:, steps].clone(), carried[:, steps].float()
        context.mark_non_differentiable(last_cell, last_hidden)
        return outputs, last_cell, last_hidden

    @staticmethod
    @once_differentiable
    def backward(context: Any, grad_outputs: Tensor, *_: Any) -> tuple[Any, ...]:
        (
            inputs, input_weight, recurrent_weight, projection, gates, cells, carried, outputs,
            exposed, keep,
        ) = context.saved_tensors  # fmt: skip
        limits = context.limits
        steps = outputs.shape[1]
        # Gradients of the clipped outputs, then of what the projection gave.
        grad_projected = grad_outputs.to(outputs.dtype).clone()  # (D, T, B, P)
        grad_exposed = torch.empty_like(exposed[:, 0])  # (D, B, H)
        grad_cell = torch.zeros_like(cells[:, 0])  # (D, B, H)
        grad_carried = None
        for step in reversed(range(steps)):
            step_grad = grad_projected[:, step]
            lstm_cell.unclip_(
                step_grad,
                outputs[:, step],
                grad_carried,
                keep[:, step + 1] if step + 1 < steps else None,
                clip=limits.projection if projection is not None else None,
            )
            if projection is None:
                grad_exposed = step_grad
            else:
                torch.bmm(step_grad, projection, out=grad_exposed)
            lstm_cell.backward_(
                gates[:, step],
                cells[:, step],
                cells[:, step + 1],
                keep[:, step],
                grad_exposed=grad_exposed,
                grad_cell=grad_cell,
                clip=limits.cell,
            )
            if step > 0:
                grad_carried = torch.bmm(gates[:, step], recurrent_weight)  # (D, B, P)
        grad_gates = gates.flatten(1, 2)  # (D, T*B, 4H)
        columns = grad_gates.transpose(1, 2)  # (D, 4H, T*B)
        grad_inputs = torch.bmm(grad_gates, input_weight).view_as(inputs)
        grad_input_weight = _wide_bmm(columns, inputs.flatten(1, 2))
        grad_recurrent_weight = _wide_bmm(columns, carried[:, :steps].flatten(1, 2))
        grad_bias = grad_gates.sum(dim=1, dtype=torch.float32)
        grad_projection = (
            None
            if projection is None
            else _wide_bmm(grad_projected.flatten(1, 2).transpose(1, 2), exposed.flatten(1, 2))
        )
        return (
            grad_inputs,
            grad_input_weight,
            grad_recurrent_weight,
            grad_bias,
            grad_projection,
            None,
            None,
            None,
            None,
        )


def _wide_bmm(first: Tensor, second: Tensor) -> Tensor:
    """Multiply batches with a float32 result, which sums of a whole window deserve."""
    if first.is_cuda and first.dtype != torch.float32:
        return torch.bmm(first, second, out_dtype=torch.float32)
    return torch.bmm(first, second).float()
