"""The pointwise half of a training step of an LSTM, forwards and backwards, in place.

On a GPU each function is one Triton kernel (`lstm_cell_triton`); these are the plain ones.

D directions, B rows, H cell, P output
"""

import torch
from torch import Tensor

# One pass over memory each, as autograd uses them; a value at the limit passes nothing on.
_tanh_backward = torch.ops.aten.tanh_backward
_tanh_backward_ = torch.ops.aten.tanh_backward.grad_input
_sigmoid_backward_ = torch.ops.aten.sigmoid_backward.grad_input
_clip_backward = torch.ops.aten.hardtanh_backward.grad_input


def forward_(
    gates: Tensor,
    cell: Tensor,
    keep: Tensor,
    *,
    new_cell: Tensor,
    exposed: Tensor,
    clip: float | None,
) -> None:
    """Activate ``gates`` (D, B, 4H), i f g o, and write the next cell and the exposed output.

    ``keep`` (D, B) is 0 for rows whose cell (D, B, H) is forgotten first.
    """
    if gates.is_cuda:
        from elmokit.engine import lstm_cell_triton

        lstm_cell_triton.forward_(gates, cell, keep, new_cell=new_cell, exposed=exposed, clip=clip)
        return
    size = cell.shape[-1]
    wide = gates.float()  # one conversion instead of one in every operation with the cell
    wide[..., : 2 * size].sigmoid_()
    wide[..., 2 * size : 3 * size].tanh_()
    wide[..., 3 * size :].sigmoid_()
    input_gate, forget_gate, candidate, output_gate = torch.split(wide, size, dim=-1)
    torch.mul(cell, forget_gate, out=new_cell)
    _forget_(new_cell, keep)
    new_cell.addcmul_(input_gate, candidate)
    if clip is not None:
        new_cell.clamp_(-clip, clip)
    exposed.copy_(new_cell.tanh().mul_(output_gate))
    _write_back(wide, gates)


def clip_and_carry_(
    outputs: Tensor, next_keep: Tensor | None, *, carried: Tensor, clip: float | None
) -> None:
    """Clip ``outputs`` (D, B, P) and write what the next step reads of them."""
    if outputs.is_cuda:
        from elmokit.engine import lstm_cell_triton

        lstm_cell_triton.clip_and_carry_(outputs, next_keep, carried=carried, clip=clip)
        return
    if clip is not None:
        outputs.clamp_(-clip, clip)
    carried.copy_(outputs)
    if next_keep is not None:
        _forget_(carried, next_keep)


def unclip_(
    grad: Tensor,
    outputs: Tensor,
    grad_carried: Tensor | None,
    next_keep: Tensor | None,
    *,
    clip: float | None,
) -> None:
    """Turn the outputs' gradient into that of what was clipped to them.

    What comes back through the next step is added first; a clipped value passes nothing on.
    """
    if grad.is_cuda:
        from elmokit.engine import lstm_cell_triton

        lstm_cell_triton.unclip_(grad, outputs, grad_carried, next_keep, clip=clip)
        return
    if grad_carried is not None and next_keep is not None:
        _forget_(grad_carried, next_keep)
        grad += grad_carried
    if clip is not None:
        _clip_backward(grad, outputs, -clip, clip, grad_input=grad)


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
    """Replace the activated ``gates`` by their gradient, and ``grad_cell`` by the step before's.

    ``grad_cell`` (D, B, H) arrives as the gradient of ``new_cell`` from the next step.
    """
    if gates.is_cuda:
        from elmokit.engine import lstm_cell_triton

        lstm_cell_triton.backward_(
            gates, cell, new_cell, keep, grad_exposed=grad_exposed, grad_cell=grad_cell, clip=clip
        )
        return
    wide = gates.float()
    gate_parts = torch.split(wide, cell.shape[-1], dim=-1)
    input_gate, forget_gate, candidate, output_gate = gate_parts
    squashed = new_cell.tanh()  # (D, B, H)
    grad_exposed = grad_exposed.float()
    grad_cell += _tanh_backward(grad_exposed * output_gate, squashed)
    if clip is not None:
        _clip_backward(grad_cell, new_cell, -clip, clip, grad_input=grad_cell)
    grad_forget_gate = grad_cell * cell
    _forget_(grad_forget_gate, keep)
    grads = (
        grad_cell * candidate,
        grad_forget_gate,
        grad_cell * input_gate,
        squashed.mul_(grad_exposed),
    )
    grad_cell *= forget_gate
    _forget_(grad_cell, keep)
    for gate, grad in zip(gate_parts, grads, strict=True):
        backward = _tanh_backward_ if gate is candidate else _sigmoid_backward_
        backward(grad, gate, grad_input=gate)
    _write_back(wide, gates)


def _write_back(wide: Tensor, gates: Tensor) -> None:
    if wide is not gates:
        gates.copy_(wide)


def _forget_(values: Tensor, keep: Tensor) -> None:
    """Set to zero the rows of (D, B, H) that begin anew; mostly there is none."""
    if not bool(keep.all()):
        values *= keep[..., None]
