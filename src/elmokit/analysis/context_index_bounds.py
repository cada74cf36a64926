"""A bound for every similarity, so that an exact search looks at few vectors in full.

Vectors are turned so that their first numbers say most about them (the main axes of a sample).
The first M of them, in 8 bits, are the head; the rest is known by its length alone. For a vector
x and a query q, each cut into head and rest,

    x . q  <=  head . q_head  +  |rest| |q_rest|  +  |error of the head| |q_head|

by Cauchy and Schwarz: what the head says, plus the most that everything else could add. A quarter
of the bytes is read for it, and no vector whose bound is below the k-th best found can be among
the k nearest.

N vectors, D their size, M size of a head
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.analysis.context_index_layout import (
    HEAD_FILE,
    ROTATION_FILE,
    SCALES_FILE,
    SLACK_FILE,
)
from elmokit.corpus.arrays import ArrayWriter

HEAD_SIZE = 256
SAMPLE = 20_000
BLOCK = 8_192
QUERY_BLOCK = 16_384
LARGEST = 127
FINE = 2 * LARGEST
# Squared lengths are off by less than this in float32, and sums by less than that.
ROUNDING_OF_SQUARES = 1e-5
ROUNDING = 1e-4


class Bounds(NamedTuple):
    """What is known about each vector without looking at it in full."""

    head: Tensor
    """(N, M) int8."""
    slack: Tensor
    """(N, 2) float32: length of the rest, length of the head's error."""
    rotation: Tensor
    """(D, M) float32, orthonormal columns."""
    scales: Tensor
    """(M,) float32: what a step of the 8 bits is worth."""

    def upper(self, query: Tensor) -> Tensor:
        """Give numbers (N,) that no similarity with ``query`` (D,) exceeds."""
        turned = query @ self.rotation  # (M,)
        length = turned.norm()
        rest = (query.dot(query) - turned.dot(turned)).clamp_min(0).add(ROUNDING_OF_SQUARES).sqrt()
        wanted = turned * self.scales  # (M,)
        step = float(wanted.abs().max().clamp_min(1e-30)) / LARGEST
        # Two parts of 8 bits each make 16; reading the heads costs as much as for one.
        coarse = (wanted / step).round()
        fine = ((wanted / step - coarse) * FINE).round()
        missed = float((wanted - step * (coarse + fine / FINE)).abs().sum()) * LARGEST
        parts = torch.stack([coarse, fine]).to(torch.int8)  # (2, M)
        upper = torch.empty(len(self.head))
        for start in range(0, len(self.head), QUERY_BLOCK):
            rows = slice(start, start + QUERY_BLOCK)
            product = torch._int_mm(parts, self.head[rows].T)  # (2, rows)
            block = upper[rows].copy_(product[0])
            block.add_(product[1], alpha=1 / FINE).mul_(step)
            block.add_(self.slack[rows, 0], alpha=float(rest))
            block.add_(self.slack[rows, 1], alpha=float(length))
        return upper.add_(missed + ROUNDING)


def write_bounds(folder: Path, vectors: npt.NDArray[np.float16]) -> None:
    """Write the bounds of vectors (N, D) beside them, a block at a time."""
    count, size = vectors.shape
    rows = np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64)
    sample = torch.from_numpy(vectors[rows]).float()
    moments = (sample.T @ sample).double()  # (D, D)
    axes = torch.linalg.eigh(moments).eigenvectors.flip(1)  # the main ones first
    rotation = axes[:, : min(HEAD_SIZE, size)].float().contiguous()  # (D, M)
    scales = (sample @ rotation).abs().amax(dim=0).clamp_min(1e-6) / LARGEST  # (M,)
    np.save(folder / ROTATION_FILE, rotation.numpy())
    np.save(folder / SCALES_FILE, scales.numpy())
    heads = ArrayWriter(folder / HEAD_FILE, np.int8, row=rotation.shape[1])
    slacks = ArrayWriter(folder / SLACK_FILE, np.float32, row=2)
    for start in range(0, count, BLOCK):
        block = torch.from_numpy(vectors[start : start + BLOCK]).float()
        turned = block @ rotation  # (rows, M)
        head = (turned / scales).round_().clamp_(-LARGEST, LARGEST)
        rest = (block.square().sum(dim=1) - turned.square().sum(dim=1)).clamp_min_(0)
        error = torch.linalg.vector_norm(turned - head * scales, dim=1)
        heads.append(head.to(torch.int8).numpy())
        slacks.append(torch.stack([(rest + ROUNDING_OF_SQUARES).sqrt(), error], dim=1).numpy())
    heads.close()
    slacks.close()
