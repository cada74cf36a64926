"""AllenNLP's mix of layers, under AllenNLP's parameter names."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from elmokit.errors import InputError


class ScalarMix(nn.Module):
    """``gamma * sum_k softmax(w)_k * tensor_k``, each weight a parameter of its own.

    With ``do_layer_norm`` each tensor is first brought to mean 0 and variance 1 over all that
    the mask keeps.
    """

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        weights = initial_scalar_parameters
        if weights is None:
            weights = [0.0] * mixture_size
        if len(weights) != mixture_size:
            raise InputError(
                f"initial_scalar_parameters: expected {mixture_size} values, found {list(weights)}"
            )
        self.mixture_size = mixture_size
        self.do_layer_norm = do_layer_norm
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.tensor([float(weight)]), trainable) for weight in weights
        )
        self.gamma = nn.Parameter(torch.tensor([1.0]), trainable)

    def forward(self, tensors: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """Mix tensors (..., dim) of one shape; layer norm needs the mask (...)."""
        if len(tensors) != self.mixture_size:
            raise InputError(f"tensors: expected {self.mixture_size}, found {len(tensors)}")
        if self.do_layer_norm:
            if mask is None:
                raise InputError("mask: layer norm leaves padding out and needs the mask")
            tensors = [_normalised(tensor, mask) for tensor in tensors]
        weights = torch.softmax(torch.cat(list(self.scalar_parameters)), dim=0)
        mixed = weights[0] * tensors[0]
        for weight, tensor in zip(weights[1:], tensors[1:], strict=True):
            mixed = mixed + weight * tensor
        return self.gamma * mixed


def _normalised(tensor: Tensor, mask: Tensor) -> Tensor:
    kept = mask.to(tensor.dtype).unsqueeze(-1)
    count = kept.sum() * tensor.shape[-1]
    mean = (tensor * kept).sum() / count
    variance = ((tensor - mean) * kept).square().sum() / count
    return (tensor - mean) / (variance + 1e-12).sqrt()
