"""Compressed files: told by their first bytes, read piece by piece, broken ones found out."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, cast

from elmokit.errors import ElmoError, MissingExtraError
from elmokit.files import beginning_looks_like

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}
MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
}

# So little at once because a few bytes may stand for a thousand times as much text.
_INPUT_BYTES = 1 << 13


class ArchiveError(ElmoError):
    """A compressed file cannot be read to its end."""


class TruncatedArchiveError(ArchiveError):
    """A compressed file ends before its content does."""


class DamagedArchiveError(ArchiveError):
    """A compressed file holds something that cannot be."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def compression_of(head: bytes) -> str | None:
    """Say how a file is compressed that begins with ``head``."""
    return next((name for magic, name in MAGICS.items() if head.startswith(magic)), None)


def compression_in(stream: io.BufferedReader, name: str) -> str | None:
    """Say how an open file is compressed; one whose name promises an archive must be one."""
    head = stream.peek(64)[:64]
    compression = compression_of(head)
    promised = SUFFIXES.get(Path(name).suffix.lower())
    if compression is None and promised is not None:
        found = beginning_looks_like(head)
        raise DamagedArchiveError(f"the file is no {promised} archive but {found}")
    return compression


def unpacked(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """Give the content of an open file as a stream, whether it is compressed or not."""
    compression = compression_in(stream, name)
    if compression is None:
        return stream
    return io.BufferedReader(_Joined(decompressed(stream, compression)))


class _Joined(io.RawIOBase):
    """Pieces as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        room = memoryview(buffer).cast("B")
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def decompressed(stream: BinaryIO, compression: str) -> Iterator[bytes]:
    """Give the content piece by piece; archives that were joined end to end are read as one."""
    make = _makers(compression)
    pending = stream.read(_INPUT_BYTES)
    while pending:
        decompressor = make()
        while not decompressor.eof:
            if not pending:
                raise TruncatedArchiveError(f"the {compression} archive breaks off")
            try:
                piece = decompressor.decompress(pending)
            except Exception as error:  # each library has an error of its own
                raise DamagedArchiveError(
                    f"the {compression} archive is damaged ({error})"
                ) from error
            if piece:
                yield piece
            pending = b"" if decompressor.eof else stream.read(_INPUT_BYTES)
        pending = decompressor.unused_data.lstrip(b"\0")  # padding between archives
        while not pending and (more := stream.read(_INPUT_BYTES)):
            pending = more.lstrip(b"\0")


def _makers(compression: str) -> Callable[[], _Decompressor]:
    if compression == "gzip":
        return lambda: zlib.decompressobj(wbits=31)
    if compression == "xz":
        return lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
    if compression == "bzip2":
        return bz2.BZ2Decompressor
    reader = _zstandard("reading").ZstdDecompressor()
    return cast("Callable[[], _Decompressor]", reader.decompressobj)


def _zstandard(purpose: str) -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("zstandard", "zst", f"{purpose} .zst files") from error
    return zstandard


@contextmanager
def packing(file: Path, name: str) -> Iterator[IO[bytes]]:
    """Open ``file`` to write what ``name`` promises: an archive, or the bytes as they are."""
    compression = SUFFIXES.get(Path(name).suffix.lower())
    with file.open("wb") as plain:
        if compression is None:
            yield plain
            return
        with _packer(plain, compression) as stream:
            yield stream


def _packer(stream: IO[bytes], compression: str) -> IO[bytes]:
    if compression == "gzip":
        # Without a name and a time the same content makes the same file.
        return cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0))
    if compression == "xz":
        return lzma.open(stream, "wb")
    if compression == "bzip2":
        return bz2.open(stream, "wb")
    return cast("IO[bytes]", _zstandard("writing").ZstdCompressor().stream_writer(stream))
