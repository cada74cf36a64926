"""Files of embedded sentences: HDF5 as ``allennlp elmo`` writes it, npz, Parquet.

Each writer takes sentences one by one and keeps none of the vectors. The file appears under
its name only when it is complete.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np
import numpy.typing as npt

from elmokit.embed.layer_choice import Vectors
from elmokit.errors import InputError, MissingExtraError
from elmokit.files import check_parent, replacing_file

HDF5_SUFFIXES = (".h5", ".hdf5")
NPZ_SUFFIX = ".npz"
PARQUET_SUFFIX = ".parquet"
SUFFIXES = (*HDF5_SUFFIXES, NPZ_SUFFIX, PARQUET_SUFFIX)

ROWS_PER_GROUP = 256
BYTES_PER_GROUP = 64 * 2**20


class Writer(Protocol):
    """Takes the sentences of a file in their order."""

    def write(self, text: str, tokens: Sequence[str], vectors: Vectors) -> None:
        """Append one sentence; a sentence without tokens keeps its place."""


@contextmanager
def writing(output: Path, *, float16: bool = False) -> Iterator[Writer]:
    """Give the writer for the suffix of ``output``."""
    check_output(output)
    with replacing_file(output) as partial:
        dtype = "float16" if float16 else "float32"
        opened: _NpzWriter | _ParquetWriter | _Hdf5Writer
        if output.suffix == NPZ_SUFFIX:
            opened = _NpzWriter(partial, dtype)
        elif output.suffix == PARQUET_SUFFIX:
            opened = _ParquetWriter(partial, dtype)
        else:
            opened = _Hdf5Writer(partial, dtype)
        try:
            yield opened
            opened.finish()
        finally:
            opened.close()


def check_output(output: Path) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    if output.suffix not in SUFFIXES:
        raise InputError(
            f"output: expected a name that ends in {', '.join(SUFFIXES)}, found {output}"
        )
    if output.is_dir():
        raise InputError(f"output: {output} is a folder")
    check_parent(output)
    if output.suffix == PARQUET_SUFFIX:
        _pyarrow()


def _converted(vectors: Vectors, dtype: str, number: int) -> npt.NDArray[np.floating]:
    if dtype == "float32":
        return vectors
    with np.errstate(over="ignore"):
        half = vectors.astype(np.float16)
    if not np.isfinite(half).all():
        raise InputError(f"sentence {number}: a value is too large for float16; write float32")
    return half


class _Hdf5Writer:
    """Datasets ``"0"``, ``"1"``... and ``sentence_to_index``, a JSON object in a string.

    Beyond the old layout each dataset has its tokens as JSON in the attribute ``tokens``.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        self._file = h5py.File(path, "w")
        self._dtype = dtype
        self._index: dict[str, str] = {}
        self._count = 0

    def write(self, text: str, tokens: Sequence[str], vectors: Vectors) -> None:
        key = str(self._count)
        dataset = self._file.create_dataset(key, data=_converted(vectors, self._dtype, self._count))
        dataset.attrs["tokens"] = json.dumps(list(tokens))
        self._index[text.strip()] = key
        self._count += 1

    def finish(self) -> None:
        index = self._file.create_dataset("sentence_to_index", (1,), dtype=h5py.string_dtype())
        index[0] = json.dumps(self._index)

    def close(self) -> None:
        self._file.close()


class _NpzWriter:
    """Arrays ``"0"``, ``"1"``... and ``tokens``, a JSON list of token lists in a string."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._dtype = dtype
        self._tokens: list[list[str]] = []

    def write(self, text: str, tokens: Sequence[str], vectors: Vectors) -> None:
        del text
        number = len(self._tokens)
        self._member(str(number), _converted(vectors, self._dtype, number))
        self._tokens.append(list(tokens))

    def finish(self) -> None:
        self._member("tokens", np.array(json.dumps(self._tokens)))

    def close(self) -> None:
        self._archive.close()

    def _member(self, name: str, array: npt.NDArray[Any]) -> None:
        content = io.BytesIO()
        np.lib.format.write_array(content, array, allow_pickle=False)
        self._archive.writestr(f"{name}.npy", content.getbuffer())


class _ParquetWriter:
    """One row a sentence: ``index``, ``text``, ``tokens``, ``vectors`` nested as the arrays are."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._arrow = _pyarrow()
        self._path = path
        self._dtype = dtype
        self._count = 0
        self._buffered = 0
        self._rows: list[tuple[str, list[str], npt.NDArray[np.floating]]] = []
        self._writer: Any = None

    def write(self, text: str, tokens: Sequence[str], vectors: Vectors) -> None:
        number = self._count + len(self._rows)
        self._rows.append((text, list(tokens), _converted(vectors, self._dtype, number)))
        self._buffered += vectors.nbytes
        if len(self._rows) >= ROWS_PER_GROUP or self._buffered >= BYTES_PER_GROUP:
            self._flush()

    def finish(self) -> None:
        self._flush()
        if self._writer is None:
            self._open(self._arrow.list_(self._arrow.list_(self._arrow.float32())))

    def close(self) -> None:
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
        self._writer = pyarrow.parquet.ParquetWriter(self._path, schema)

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


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "arrow", "writing Parquet") from error
    return pyarrow
