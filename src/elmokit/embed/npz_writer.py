"""Embedded sentences as one npz archive, as `numpy.load` reads it."""

import functools
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from elmokit.embed.stored_zip import StoredZip
from elmokit.errors import InputError

# The longest string that numpy can hold, at four bytes a character.
MOST_TOKEN_CHARACTERS = (2**31 - 1) // 4


class NpzWriter:
    """Arrays ``"0"``, ``"1"``... and ``tokens``, a JSON list of token lists in a string."""

    def __init__(self, path: Path) -> None:
        self._archive = StoredZip(path)
        self._tokens = TemporaryFile(dir=path.parent)  # noqa: SIM115 - closed by `close`
        self._tokens.write(b"[")
        self._count = 0

    def write(self, text: str, tokens: Sequence[str], vectors: npt.NDArray[np.floating]) -> None:
        """Append one sentence."""
        del text
        header = _header(vectors.dtype.str, vectors.shape)
        content = np.ascontiguousarray(vectors).reshape(-1).view(np.uint8).data
        self._archive.add(f"{self._count}.npy", (header, content))
        separator = ", " if self._count else ""
        self._tokens.write(f"{separator}{json.dumps(list(tokens))}".encode("ascii"))
        if self._tokens.tell() >= MOST_TOKEN_CHARACTERS:
            raise InputError(
                f"output: an npz file holds at most {MOST_TOKEN_CHARACTERS / 1e6:,.0f} million "
                "characters of tokens; write a .parquet file, or several from parts of the text"
            )
        self._count += 1

    def finish(self) -> None:
        """Write what comes last."""
        self._tokens.write(b"]")
        header = _header(f"<U{self._tokens.tell()}", ())
        self._archive.add("tokens.npy", _Characters(header, self._tokens))
        self._archive.finish()

    def close(self) -> None:
        """Close what is open."""
        with closing(self._archive):  # closed even where the disk is full
            self._tokens.close()


@functools.lru_cache(maxsize=1000)
def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    facts: dict[str, Any] = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    return stream.getvalue()


class _Characters:
    """A header, and the ASCII characters of a file as numpy stores characters."""

    def __init__(self, header: bytes, stream: IO[bytes]) -> None:
        self._header = header
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield self._header
        self._stream.seek(0)
        while block := self._stream.read(2**18):
            yield np.frombuffer(block, dtype=np.uint8).astype("<u4").tobytes()
