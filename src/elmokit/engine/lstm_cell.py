"""The pointwise half of a training step of an LSTM, forwards and backwards, in place.

On a GPU each function is one Triton kernel (`lstm_cell_triton`); these are the plain ones.

D directions, B rows, H cell, P output
"""

import torch
from torch import Tensor


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
    gates[..., : 2 * size].sigmoid_()
    gates[..., 2 * size : 3 * size].tanh_()
    gates[..., 3 * size :].sigmoid_()
    input_gate, forget_gate, candidate, output_gate = torch.split(gates, size, dim=-1)
    torch.mul(cell, keep[..., None], out=new_cell)
    new_cell.mul_(forget_gate).addcmul_(input_gate, candidate)
    if clip is not None:
        new_cell.clamp_(-clip, clip)
    exposed.copy_(new_cell).tanh_().mul_(output_gate)


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
    if next_keep is None:
        carried.copy_(outputs)
    else:
        torch.mul(outputs, next_keep[..., None], out=carried)


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
        grad.addcmul_(grad_carried, next_keep[..., None].to(grad.dtype))
    if clip is not None:
        grad.mul_(outputs.abs() < clip)


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
    size = cell.shape[-1]
    input_gate, forget_gate, candidate, output_gate = torch.split(gates, size, dim=-1)
    squashed = new_cell.tanh()  # (D, B, H)
    grad_output_gate = grad_exposed * squashed
    grad_cell.addcmul_(grad_exposed * output_gate, 1 - squashed * squashed)
    if clip is not None:
        grad_cell.mul_(new_cell.abs() < clip)
    grad_candidate = grad_cell * input_gate
    grad_input_gate = grad_cell * candidate
    grad_forget_gate = grad_cell * cell
    grad_forget_gate.mul_(keep[..., None])
    grad_cell.mul_(forget_gate).mul_(keep[..., None])
    input_gate.copy_(grad_input_gate.mul_(input_gate * (1 - input_gate)))
    forget_gate.copy_(grad_forget_gate.mul_(forget_gate * (1 - forget_gate)))
    candidate.copy_(grad_candidate.mul_(1 - candidate * candidate))
    output_gate.copy_(grad_output_gate.mul_(output_gate * (1 - output_gate)))
