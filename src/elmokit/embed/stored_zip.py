"""Zip archives of any number of members, none of them compressed.

`zipfile` keeps half a kilobyte of memory for each member until the archive is closed, and takes
several times as long for small ones.
"""

import shutil
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

# From here on a value stands in a wider field elsewhere (zip64).
WIDE = 2**32 - 1
MANY = 2**16 - 1
_ELSEWHERE = 2**32 - 1

_PLAIN_VERSION, _WIDE_VERSION = 20, 45
_MADE_ON_UNIX = 3 << 8
_FIRST_OF_1980 = 0x21  # of members it is not said when they were made
_READ_AND_WRITE = 0o600 << 16

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_WIDE_END = struct.Struct("<4sQ2H2L4Q")
_WIDE_PLACE = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")


class StoredZip:
    """Writes members one after another; the archive is whole when `finish` has been called."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._place = 0
        self._count = 0
        # The list of members comes last in an archive.
        self._directory = TemporaryFile(dir=path.parent)  # noqa: SIM115 - closed by `close`

    def add(self, name: str, parts: Iterable[memoryview | bytes]) -> None:
        """Append a member, given in parts of bytes; they are gone through twice, so no iterator."""
        size = checksum = 0
        for part in parts:
            size += len(part)
            checksum = zlib.crc32(part, checksum)
        encoded = name.encode("ascii")
        wide_size = (size, size) if size >= WIDE else ()
        wide_place = (self._place,) if self._place >= WIDE else ()
        shown_size = _ELSEWHERE if wide_size else size
        version = _WIDE_VERSION if wide_size or wide_place else _PLAIN_VERSION
        facts = (version, 0, 0, 0, _FIRST_OF_1980, checksum, shown_size, shown_size, len(encoded))

        extra = _wide(*wide_size)
        header = _LOCAL.pack(b"PK\x03\x04", *facts, len(extra)) + encoded + extra
        self._file.write(header)
        for part in parts:
            self._file.write(part)

        extra = _wide(*wide_size, *wide_place)
        shown_place = _ELSEWHERE if wide_place else self._place
        self._directory.write(
            _CENTRAL.pack(
                *(b"PK\x01\x02", _MADE_ON_UNIX | version, *facts, len(extra)),
                *(0, 0, 0, _READ_AND_WRITE, shown_place),
            )
            + encoded
            + extra
        )
        self._place += len(header) + size
        self._count += 1

    def finish(self) -> None:
        """Append the list of members."""
        size = self._directory.tell()
        self._directory.seek(0)
        shutil.copyfileobj(self._directory, self._file, 2**20)
        end = self._place + size
        if self._count >= MANY or size >= WIDE or self._place >= WIDE:
            counts = (self._count, self._count, size, self._place)
            versions = (_MADE_ON_UNIX | _WIDE_VERSION, _WIDE_VERSION)
            self._file.write(
                _WIDE_END.pack(b"PK\x06\x06", _WIDE_END.size - 12, *versions, 0, 0, *counts)
            )
            self._file.write(_WIDE_PLACE.pack(b"PK\x06\x07", 0, end, 1))
        count = min(self._count, MANY)
        size, place = (_ELSEWHERE if n >= WIDE else n for n in (size, self._place))
        self._file.write(_END.pack(b"PK\x05\x06", 0, 0, count, count, size, place, 0))

    def close(self) -> None:
        """Close what is open."""
        with self._file:  # closed even where the disk is full
            self._directory.close()


def _wide(*values: int) -> bytes:
    return struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values) if values else b""
