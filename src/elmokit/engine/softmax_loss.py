"""The full-softmax loss of many positions, with the gradients made on the way.

Logits of all positions over a large vocabulary would not fit in memory, and going over them
again in a backward pass would cost as much as making them. So a chunk of positions at a time
gets its logits, its losses and its share of the gradients, and the logits are forgotten.

N positions, P size of a direction, V vocabulary
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

# Logits of a chunk: 2 GB on a GPU in half precision, 128 MB elsewhere.
GPU_LOGITS = 2**30
CPU_LOGITS = 2**25
# Matrix units like rows of whole groups of this many numbers.
ALIGNMENT = 8


def softmax_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """Give the mean of ``-log p(target)`` over N positions, and each one's value (N,) in float32.

    Products are made in the type of ``hidden`` (N, P); ``weight`` (V, P) and ``bias`` (V,) may be
    wider. The values of the single positions carry no gradient.
    """
    mean, losses = _SoftmaxLoss.apply(hidden, weight, bias, targets)  # type: ignore[no-untyped-call]
    return mean, losses


class _SoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor]:
        (count, size), vocabulary = hidden.shape, len(weight)
        # The bias is one more column of the weight: its gradient then comes with the weight's.
        wide_hidden = F.pad(hidden, (0, ALIGNMENT))  # (N, P + 8)
        wide_hidden[:, size] = 1
        wide_weight = hidden.new_zeros(vocabulary, size + ALIGNMENT)  # (V, P + 8)
        wide_weight[:, :size] = weight
        wide_weight[:, size] = bias
        losses = hidden.new_empty(count, dtype=torch.float32)
        grad_hidden = torch.empty_like(wide_hidden)
        grad_weight = weight.new_zeros(wide_weight.shape)
        limit = GPU_LOGITS if hidden.is_cuda else CPU_LOGITS
        chunk = min(count, max(1, limit // vocabulary))
        for first in range(0, count, chunk):
            part = wide_hidden[first : first + chunk]  # (n, P + 8)
            logits = part @ wide_weight.t()  # (n, V)
            losses[first : first + chunk] = _loss_and_gradient_(
                logits, targets[first : first + chunk], 1 / count
            )
            torch.mm(logits, wide_weight, out=grad_hidden[first : first + chunk])
            _add_product_(grad_weight, logits.t(), part)
        context.save_for_backward(grad_hidden, grad_weight)
        context.mark_non_differentiable(losses)
        return losses.mean(), losses

    @staticmethod
    @once_differentiable
    def backward(context: Any, grad_mean: Tensor, *_: Any) -> tuple[Any, ...]:
        grad_hidden, grad_weight = context.saved_tensors
        size = grad_weight.shape[1] - ALIGNMENT
        return (
            grad_hidden[:, :size] * grad_mean.to(grad_hidden.dtype),
            grad_weight[:, :size] * grad_mean,
            grad_weight[:, size] * grad_mean,
            None,
        )


def _loss_and_gradient_(logits: Tensor, targets: Tensor, scale: float) -> Tensor:
    """Give the losses (n,) of ``logits`` (n, V), which become their gradient times ``scale``."""
    if logits.is_cuda:
        from elmokit.engine import softmax_loss_triton

        return softmax_loss_triton.loss_and_gradient_(logits, targets, scale)
    index = targets[:, None]
    target_logits = logits.gather(1, index).float()  # (n, 1)
    normaliser = torch.logsumexp(logits.float(), dim=1, keepdim=True)  # (n, 1)
    logits.sub_(normaliser.to(logits.dtype)).exp_().mul_(scale)
    logits.scatter_add_(1, index, logits.new_full((len(logits), 1), -scale))
    return (normaliser - target_logits)[:, 0]


def _add_product_(total: Tensor, first: Tensor, second: Tensor) -> None:
    """Add a product to a float32 total."""
    if first.dtype == total.dtype:
        total.addmm_(first, second)
    elif first.is_cuda:
        total += torch.mm(first, second, out_dtype=total.dtype)
    else:
        total += torch.mm(first, second)
