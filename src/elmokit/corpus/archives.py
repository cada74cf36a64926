"""Compressed files: told by their first bytes, read piece by piece, broken ones found out."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from elmokit.errors import ElmoError, MissingExtraError

SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}
MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
}

# So little at once because a few bytes may stand for a thousand times as much text.
_INPUT_BYTES = 1 << 13


class TruncatedArchiveError(ElmoError):
    """A compressed file ends before its content does."""


class DamagedArchiveError(ElmoError):
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
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("zstandard", "zst", "reading .zst files") from error
    reader = zstandard.ZstdDecompressor()
    return reader.decompressobj
