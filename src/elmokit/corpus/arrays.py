"""Arrays on disk whose length is known only at the end."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_HEADER_BYTES = 128


class ArrayWriter:
    """Writes a `.npy` file piece by piece: values, or rows of ``row`` values each."""

    def __init__(self, file: Path, dtype: npt.DTypeLike, *, row: int | None = None) -> None:
        self.file = file
        self.dtype = np.dtype(dtype)
        self._row = () if row is None else (row,)
        self.length = 0
        self._stream = file.open("wb")
        self._stream.write(bytes(_HEADER_BYTES))

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write more values or rows."""
        self._stream.write(values.astype(self.dtype, copy=False).tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Put the header in front; without this the file is not readable."""
        shape = (self.length, *self._row)
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        magic = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
        text = repr(facts).encode()
        self._stream.seek(0)
        self._stream.write(magic + text.ljust(_HEADER_BYTES - 11) + b"\n")
        self._stream.close()
