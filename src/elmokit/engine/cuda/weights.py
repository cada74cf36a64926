"""The weights of both directions, laid out for one product.

D directions, I input, H cell, P output
"""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from elmokit.nn.bilm import BiLM
from elmokit.nn.projected_lstm import ProjectedLSTM


class LayerWeights(NamedTuple):
    """One layer."""

    input: Tensor
    """(D, I, 4H)"""
    bias: Tensor
    """(D, 4H), float32"""
    recurrent: Tensor
    """(D, P, 4H)"""
    projection: Tensor | None
    """(D, H, P)"""
    cell_clip: float | None
    projection_clip: float | None

    @classmethod
    def of(cls, layers: tuple[ProjectedLSTM, ProjectedLSTM], dtype: torch.dtype) -> Self:
        """Copy a layer's weights in both directions, in ``dtype``."""
        forward, backward = layers
        projection = None
        if forward.projection_weight is not None and backward.projection_weight is not None:
            projection = _factors(forward.projection_weight, backward.projection_weight, dtype)
        return cls(
            _factors(forward.input_weight, backward.input_weight, dtype),
            torch.stack([forward.gate_bias(), backward.gate_bias()]),
            _factors(forward.recurrent_weight, backward.recurrent_weight, dtype),
            projection,
            forward.cell_clip,
            None if projection is None else forward.projection_clip,
        )


def layer_weights(bilm: BiLM, dtype: torch.dtype) -> list[LayerWeights]:
    """Copy the weights of all layers, in ``dtype``."""
    found = []
    for layers in zip(bilm.forward_lstm.layers, bilm.backward_lstm.layers, strict=True):
        forward, backward = layers
        assert isinstance(forward, ProjectedLSTM)
        assert isinstance(backward, ProjectedLSTM)
        found.append(LayerWeights.of((forward, backward), dtype))
    return found


def _factors(forward: Tensor, backward: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.stack([forward.t(), backward.t()]).to(dtype).contiguous()
