"""The nearest of many vectors, exactly: all of them are looked at, or those that bounds leave.

N vectors, D their size, k how many are wanted
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.analysis.context_index_bounds import Bounds

# Small enough to stay in a CPU's cache as float32.
SCAN_BLOCK = 1_024
# One candidate of each group gives a first idea of how near the nearest are.
GROUP = 2_048
CHUNK = 8_192
# With more candidates than this share, reading all vectors in order is as fast.
MOST_CANDIDATES = 0.25
# Sums in float32 depend on how rows are laid out by less than this.
ROUNDING = 1e-6


class Nearest(NamedTuple):
    """Vectors near to a query, the nearest first, equally near ones by their number."""

    rows: npt.NDArray[np.int64]
    """(k,) numbers of the vectors."""
    similarities: npt.NDArray[np.float32]
    """(k,) products with the query; cosines, where all lengths are 1."""


def nearest(vectors: Tensor, query: Tensor, count: int, bounds: Bounds | None = None) -> Nearest:
    """Give the ``count`` nearest of float16 ``vectors`` (N, D) to a float32 ``query`` (D,).

    The answer is the same with bounds as without.
    """
    count = min(count, len(vectors))
    if count == 0:
        return Nearest(np.zeros(0, np.int64), np.zeros(0, np.float32))
    candidates = None if bounds is None else _bounded(vectors, query, count, bounds)
    if candidates is None:
        similarities = _scanned(vectors, query)
        least = similarities.topk(count).values[-1] - ROUNDING
        candidates = (similarities >= least).nonzero()[:, 0]
    return ranked(vectors, query, candidates, count)


def ranked(vectors: Tensor, query: Tensor, rows: Tensor, count: int) -> Nearest:
    """Give the ``count`` nearest of some rows."""
    rows = rows.sort().values
    # In float64, so that the order of near equals does not depend on the path that led here.
    products = (vectors[rows].double() * query.double()).sum(dim=1)
    best = torch.sort(products, descending=True, stable=True).indices[:count]
    return Nearest(rows[best].numpy(), products[best].float().numpy())


def _scanned(vectors: Tensor, query: Tensor) -> Tensor:
    similarities = torch.empty(len(vectors))
    for start in range(0, len(vectors), SCAN_BLOCK):
        block = vectors[start : start + SCAN_BLOCK].float()
        torch.mv(block, query, out=similarities[start : start + SCAN_BLOCK])
    return similarities


def _bounded(vectors: Tensor, query: Tensor, count: int, bounds: Bounds) -> Tensor | None:
    """Give all rows that may be among the nearest, or None where they are too many."""
    upper = bounds.upper(query)  # (N,)
    groups = max(len(upper) // GROUP, 4 * count)
    if groups * 2 > len(upper):
        return None
    whole = upper[: len(upper) // groups * groups].view(groups, -1)
    best = whole.amax(dim=1).topk(min(groups, 4 * count)).indices
    rows = whole[best].argmax(dim=1) + best * whole.shape[1]
    found = vectors[rows].float() @ query
    least = found.topk(count).values[-1]
    possible = (upper >= least).nonzero()[:, 0]
    if len(possible) > MOST_CANDIDATES * len(upper):
        return None
    # The most promising ones first: what they give leaves fewer to look at.
    promise, order = upper[possible].sort(descending=True)
    possible = possible[order]
    similarities = torch.empty(0)
    for start in range(0, len(possible), CHUNK):
        if promise[start] < least:
            break
        chunk = vectors[possible[start : start + CHUNK]].float() @ query
        similarities = torch.cat([similarities, chunk])
        if len(similarities) >= count:
            least = torch.maximum(least, similarities.topk(count).values[-1])
    return possible[: len(similarities)][similarities >= least - ROUNDING]
