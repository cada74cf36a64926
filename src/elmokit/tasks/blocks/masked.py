"""Softmax, maximum and mean over what is there, leaving padding out.

``mask`` is True where there is something and has the shape of the values, or one that fits them.
"""

import torch
from torch import Tensor

# What stands for minus infinity: large enough, and its exponential never makes a NaN.
VERY_LOW = -1e4


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Give probabilities that are zero outside the mask; all zero where nothing is there."""
    low = torch.where(mask, scores, VERY_LOW)
    return torch.softmax(low, dim=dim) * mask


def masked_max(values: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Give the largest value along ``dim``; 0 where nothing is there."""
    largest = torch.where(mask, values, VERY_LOW).amax(dim=dim)
    return torch.where(mask.any(dim=dim), largest, 0.0)


def masked_mean(values: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Give the mean along ``dim``; 0 where nothing is there."""
    counts = mask.sum(dim=dim).clamp(min=1)
    return torch.where(mask, values, 0.0).sum(dim=dim) / counts
