"""How products are cut for the kernels: what was fastest on an H200 at the original size."""

import torch

from elmokit.engine.cuda.kernels import Tiles

PROJECTION_PARTS = 8
"""A projection has few outputs and a great depth: in parts, all of a GPU takes part."""


def cell_tiles(width: int, dtype: torch.dtype) -> Tiles:
    """Choose for the recurrent product of a step."""
    if dtype == torch.float32:
        return Tiles(rows=min(width, 32), columns=64, depth=32, warps=4, stages=4)
    if width % 128 == 0:
        return Tiles(rows=128, columns=64, depth=64, warps=8, stages=3)
    if width == 16:
        return Tiles(rows=16, columns=64, depth=64, warps=4, stages=3)
    return Tiles(rows=min(width, 64), columns=64, depth=64, warps=8, stages=3)


def projection_tiles(width: int, dtype: torch.dtype) -> Tiles:
    """Choose for the projection of a step."""
    if dtype == torch.float32:
        return Tiles(rows=min(width, 32), columns=128, depth=32, warps=4, stages=4)
    if width > 256:
        return Tiles(rows=128, columns=128, depth=64, warps=4, stages=3)
    columns = 64 if width <= 64 else 128
    return Tiles(rows=min(width, 64), columns=columns, depth=64, warps=4, stages=4)


def input_tiles(dtype: torch.dtype) -> Tiles:
    """Choose for the inputs of many steps."""
    if dtype == torch.float32:
        return Tiles(rows=32, columns=128, depth=32, warps=4, stages=4)
    return Tiles(rows=128, columns=128, depth=64, warps=8, stages=3)
