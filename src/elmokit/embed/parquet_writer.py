"""Embedded sentences as a Parquet table, one row each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import MissingExtraError

# Memory holds one group, a few times over. Each leaves a few kilobytes there until the end.
ROWS_PER_GROUP = 4096
BYTES_PER_GROUP = 32 * 2**20

# What numbers repeat themselves is not worth looking for.
_TEXT_COLUMNS = ["text", "tokens.list.element"]


class ParquetWriter:
    """One row a sentence: ``index``, ``text``, ``tokens``, ``vectors`` nested as the arrays are."""

    def __init__(self, path: Path) -> None:
        self._arrow = load_pyarrow()
        self._path = path
        self._count = 0
        self._buffered = 0
        self._rows: list[tuple[str, list[str], npt.NDArray[np.floating]]] = []
        self._writer: Any = None

    def write(self, text: str, tokens: Sequence[str], vectors: npt.NDArray[np.floating]) -> None:
        """Append one sentence."""
        self._rows.append((text, list(tokens), vectors))
        self._buffered += vectors.nbytes
        if len(self._rows) >= ROWS_PER_GROUP or self._buffered >= BYTES_PER_GROUP:
            self._flush()

    def finish(self) -> None:
        """Write what comes last."""
        self._flush()
        if self._writer is None:
            self._open(self._arrow.list_(self._arrow.list_(self._arrow.float32())))

    def close(self) -> None:
        """Close what is open."""
        if self._writer is not None:
            self._writer.close()

    def _open(self, vectors_type: Any) -> None:
        arrow = self._arrow
        import pyarrow.parquet

        schema = arrow.schema(
            {
                "index": arrow.int64(),
                "text": arrow.string(),
                "tokens": arrow.list_(arrow.string()),
                "vectors": vectors_type,
            }
        )
        self._writer = pyarrow.parquet.ParquetWriter(
            self._path,
            schema,
            use_dictionary=["tokens.list.element"],
            compression=dict.fromkeys(_TEXT_COLUMNS, "snappy"),
            write_statistics=["index"],
        )

    def _flush(self) -> None:
        if not self._rows:
            return
        arrow = self._arrow
        texts, tokens, arrays = (list(column) for column in zip(*self._rows, strict=True))
        vectors = self._nested(arrays)
        if self._writer is None:
            self._open(vectors.type)
        numbers = range(self._count, self._count + len(self._rows))
        columns = [
            arrow.array(numbers, arrow.int64()),
            arrow.array(texts, arrow.string()),
            arrow.array(tokens, arrow.list_(arrow.string())),
            vectors,
        ]
        self._writer.write_table(arrow.Table.from_arrays(columns, schema=self._writer.schema))
        self._count += len(self._rows)
        self._rows = []
        self._buffered = 0

    def _nested(self, arrays: list[npt.NDArray[np.floating]]) -> Any:
        """Lay (n, D) or (L+1, n, D) arrays out as nested lists without touching each number."""
        arrow = self._arrow
        dim = arrays[0].shape[-1]
        flat = np.concatenate([array.reshape(-1) for array in arrays])
        values = arrow.FixedSizeListArray.from_arrays(arrow.array(flat), dim)
        if arrays[0].ndim == 3:
            lengths = np.concatenate([np.full(len(a), a.shape[1]) for a in arrays])
            values = arrow.ListArray.from_arrays(_offsets(lengths), values)
        counts = np.array([len(array) for array in arrays])
        return arrow.ListArray.from_arrays(_offsets(counts), values)


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def load_pyarrow() -> Any:
    """Import pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "arrow", "writing Parquet") from error
    return pyarrow
