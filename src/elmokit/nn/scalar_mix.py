"""The task-weighted mix of a biLM's layers (Peters et al. 2018, equation 1).

B sentences, T tokens, D size of a representation (both directions), L LSTM layers
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from elmokit.errors import InputError

Form = Literal["layers", "directions"]


class ScalarMix(nn.Module):
    """``gamma * sum_j softmax(w)_j * h_j`` over the L+1 layers.

    ``form="directions"`` gives the forward and the backward half of each LSTM layer weights of
    their own, one softmax over all 2L+1 of them:
    ``gamma * (i * h_init + sum_j f_j * h_fwd_j + sum_j b_j * h_bwd_j)``.
    Each half keeps its place in the vector; ``h_init`` is the doubled layer 0. The order of the
    weights is ``i, f_1..f_L, b_1..b_L``.

    ``weights`` are the starting values of ``w``, before the softmax (default: zeros, so all
    layers count alike); with ``trainable=False`` they and ``gamma`` stay fixed.
    """

    def __init__(
        self,
        *,
        layers: int,
        form: Form = "layers",
        layer_norm: bool = False,
        weights: Sequence[float] | None = None,
        gamma: float = 1.0,
        trainable: bool = True,
        l2: float = 0.0,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise InputError(f"layers: expected 1 or more representations, found {layers}")
        if form not in ("layers", "directions"):
            raise InputError(f"form: expected 'layers' or 'directions', found {form!r}")
        count = layers if form == "layers" else 2 * layers - 1
        if weights is None:
            weights = [0.0] * count
        if len(weights) != count:
            raise InputError(f"weights: expected {count} values, found {len(weights)}")
        if not all(isinstance(w, int | float) and math.isfinite(w) for w in (*weights, gamma)):
            raise InputError(f"weights, gamma: expected finite numbers, found {weights}, {gamma}")
        if not isinstance(l2, int | float) or not l2 >= 0:
            raise InputError(f"l2: expected 0 or more, found {l2!r}")
        self.layers = layers
        self.form = form
        self.layer_norm = layer_norm
        self.l2 = l2
        self.weights = nn.Parameter(torch.tensor(weights, dtype=torch.float32), trainable)
        self.gamma = nn.Parameter(torch.tensor(float(gamma)), trainable)

    def normalised_weights(self) -> Tensor:
        """Give ``s = softmax(w)``: (L+1,), or (2L+1,) for ``form="directions"``."""
        return torch.softmax(self.weights, dim=0)

    def penalty(self) -> Tensor:
        """Give ``l2 * sum(w**2)``, to be added to the loss."""
        return self.l2 * self.weights.square().sum()

    def forward(self, layers: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """Mix L+1 tensors (B, T, D) into one; layer norm needs the mask (B, T)."""
        if len(layers) != self.layers:
            raise InputError(f"this mix is over {self.layers} layers, found {len(layers)}")
        if self.layer_norm:
            if mask is None:
                raise InputError("mask: layer norm leaves padding out and needs the mask")
            layers = [_normalise(layer, mask) for layer in layers]
        weights = self.normalised_weights().to(layers[0].dtype)
        if self.form == "layers":
            mixed = _weighted_sum(weights, layers)
        else:
            depth = self.layers - 1
            halves = [layer.chunk(2, dim=-1) for layer in layers]
            ahead = torch.cat([weights[:1], weights[1 : depth + 1]])
            behind = torch.cat([weights[:1], weights[depth + 1 :]])
            mixed = torch.cat(
                [
                    _weighted_sum(ahead, [half[0] for half in halves]),
                    _weighted_sum(behind, [half[1] for half in halves]),
                ],
                dim=-1,
            )
        return self.gamma.to(mixed.dtype) * mixed


def _weighted_sum(weights: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    total = weights[0] * tensors[0]
    for weight, tensor in zip(weights[1:], tensors[1:], strict=True):
        total = total + weight * tensor
    return total


def _normalise(layer: Tensor, mask: Tensor) -> Tensor:
    """One mean and one variance over all unmasked positions of the batch, no affine part."""
    # Half precision cannot count so many values.
    values = layer if layer.dtype == torch.float64 else layer.float()
    kept = mask.to(values.dtype)[:, :, None]  # (B, T, 1)
    count = (kept.sum() * layer.shape[-1]).clamp(min=1)
    mean = (values * kept).sum() / count
    variance = ((values - mean) * kept).square().sum() / count
    return ((values - mean) * (variance + 1e-12).rsqrt()).to(layer.dtype)
