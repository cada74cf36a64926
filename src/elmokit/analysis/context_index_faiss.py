"""Approximate search with faiss, for indexes that are too large to be looked at as a whole.

Vectors are gathered in cells around centres, and a query looks into the nearest cells alone: what
lies in another cell is missed.

N vectors, D their size
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import FormatError, MissingExtraError

ROWS_PER_CELL = 250
MOST_CELLS = 16_384
SAMPLE_PER_CELL = 64
PROBED_CELLS = 32
BLOCK = 65_536


def import_faiss() -> Any:
    """Give the package faiss, which is an extra."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss-cpu", "ann", "approximate search") from error
    return faiss


def write_faiss(file: Path, vectors: npt.NDArray[np.float16]) -> None:
    """Write an inverted file with 8-bit numbers for vectors (N, D) of length 1."""
    faiss = import_faiss()
    count, size = vectors.shape
    cells = int(np.clip(count // ROWS_PER_CELL, 1, MOST_CELLS))
    centres = faiss.IndexFlatIP(size)
    index = faiss.IndexIVFScalarQuantizer(
        centres, size, cells, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.min_points_per_centroid = 1  # a small corpus is no reason to warn
    rows = np.linspace(0, count - 1, min(count, SAMPLE_PER_CELL * cells)).astype(np.int64)
    index.train(vectors[rows].astype(np.float32))
    for start in range(0, count, BLOCK):
        index.add(vectors[start : start + BLOCK].astype(np.float32))
    index.nprobe = min(PROBED_CELLS, cells)
    faiss.write_index(index, str(file))


class FaissCandidates:
    """An approximate index that was written to a file."""

    def __init__(self, file: Path, *, shape: tuple[int, int]) -> None:
        faiss = import_faiss()
        try:
            self._index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP)
        except RuntimeError as error:
            raise FormatError(file, f"is no index of faiss ({error})") from error
        if (self._index.ntotal, self._index.d) != shape:
            raise FormatError(
                file,
                "does not belong to this index",
                found=f"{self._index.ntotal} vectors of size {self._index.d}",
                expected=f"{shape[0]} of {shape[1]}",
            )

    def rows(self, query: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
        """Give up to ``count`` rows that are probably near to ``query`` (D,)."""
        _, found = self._index.search(query[None], count)
        rows: npt.NDArray[np.int64] = found[0]
        return rows[rows >= 0]
