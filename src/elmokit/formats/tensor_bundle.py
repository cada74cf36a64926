"""TensorFlow checkpoints ("tensor bundles"), read and written without TensorFlow.

    PREFIX.index                 a table in LevelDB's format, from a tensor's name to its entry
    PREFIX.data-SSSSS-of-NNNNN   the tensors' bytes, little endian and row-major (shard S of N)

The table, where v is a varint (7 bits a byte, lowest first) and u32 a fixed little-endian integer:

    file     block* footer
    footer   handle of the metaindex block, handle of the index block, zeros to 40 bytes, magic (8)
    handle   v offset, v size (of the block without its trailer)
    block    record* u32 restart* u32 restarts; trailer: compression (1 byte), u32 masked crc32c
    record   v shared, v fresh, v length, key (`fresh` bytes after `shared` of the last key), value

The index block's values are the handles of the data blocks. There, key "" holds a
BundleHeaderProto and any other key a BundleEntryProto, whose fields are known by number below.
"""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import FormatError, InputError
from elmokit.formats.crc32c import masked_crc32c

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER_SIZE = 48
_TRAILER_SIZE = 5
_BUNDLE_VERSION = 1
_RECORDS_PER_BLOCK = 64

# Far above any real index (about 100 bytes a tensor). It bounds the memory that shared key
# prefixes can claim: else a few bytes could spell a key of a megabyte, again and again.
_MOST_INDEX_BYTES = 64 << 20
_MOST_DIMENSIONS = 32
_MOST_ELEMENTS = 1 << 48

_DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    3: np.dtype("<i4"),
    9: np.dtype("<i8"),
    19: np.dtype("<f2"),
}
_DTYPE_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_OTHER_DTYPES = {7: "DT_STRING", 10: "DT_BOOL", 14: "DT_BFLOAT16", 20: "DT_RESOURCE"}


@dataclass(frozen=True)
class Entry:
    """What the index says of one tensor."""

    dtype: np.dtype[Any] | None
    """None where the tensor cannot be read; `obstacle` then says why."""
    shape: tuple[int, ...]
    shard: int
    offset: int
    """Where the bytes begin in the shard's data file."""
    size: int
    """In bytes."""
    crc32c: int
    """Masked, as stored."""
    obstacle: str = ""


class TensorBundle:
    """A checkpoint open for reading; every block and tensor is checked against its checksum."""

    def __init__(self, prefix: Path) -> None:
        """Read the index; `prefix` is the path of the checkpoint's files without their endings."""
        self.prefix = prefix
        self.index_file = file = _index_file(prefix)
        records = _read_table(file)
        self.shards = _read_header(file, *next(records, (None, b"")))
        self.entries: dict[str, Entry] = {}
        for key, value in records:
            if key[0] != 0:  # else a part of a partitioned variable, whose key is in binary
                name = key.decode(errors="backslashreplace")
                self.entries[name] = _read_entry(file, name, value, self.shards)

    @property
    def names(self) -> list[str]:
        """Every tensor's name, sorted."""
        return list(self.entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that the index gives for the tensor `name`."""
        return self._find(name).shape

    def read(self, name: str) -> npt.NDArray[Any]:
        """The tensor `name` in its stored dtype and shape; the array is the caller's own."""
        entry = self._find(name)
        if entry.dtype is None:
            raise FormatError(self.index_file, entry.obstacle, key=name)
        file = _data_file(self.prefix, entry.shard, self.shards)
        end = entry.offset + entry.size
        try:
            with file.open("rb") as stream:
                available = os.fstat(stream.fileno()).st_size
                if end > available:
                    found, expected = f"{available} bytes", f"{end} or more"
                    raise FormatError(
                        file, "is cut short", key=name, found=found, expected=expected
                    )
                octets = np.fromfile(stream, np.uint8, entry.size, offset=entry.offset)
        except OSError as error:
            raise FormatError(file, f"cannot be read: {error.strerror}", key=name) from error
        if octets.size != entry.size or masked_crc32c(octets) != entry.crc32c:
            raise FormatError(file, "is damaged: a tensor's checksum does not match", key=name)
        return octets.view(entry.dtype).reshape(entry.shape)

    def _find(self, name: str) -> Entry:
        if name not in self.entries:
            raise FormatError(self.index_file, "has no such tensor", key=name)
        return self.entries[name]


def write_bundle(prefix: Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write `tensors` as a bundle of one shard, which TensorFlow reads as its own."""
    for name, tensor in tensors.items():
        if not name or not name.isprintable():
            raise InputError(f"a tensor cannot have the name {name!r}: expected printable text")
        if tensor.dtype.newbyteorder("<") not in _DTYPE_CODES or tensor.ndim > _MOST_DIMENSIONS:
            raise InputError(
                f"tensor {name!r} of dtype {tensor.dtype} and {tensor.ndim} dimensions cannot be "
                f"stored: expected one of {', '.join(str(dtype) for dtype in _DTYPE_CODES)} "
                f"and at most {_MOST_DIMENSIONS} dimensions"
            )
    records = [(b"", _field(1, 1) + _field(3, _field(1, _BUNDLE_VERSION)))]  # one shard
    offset = 0
    with _data_file(prefix, 0, 1).open("wb") as stream:
        for name in sorted(tensors, key=str.encode):
            dtype = tensors[name].dtype.newbyteorder("<")
            octets = np.asarray(tensors[name], dtype, order="C").reshape(-1).view(np.uint8)
            stream.write(octets.data)
            shape = b"".join(_field(2, _field(1, size)) for size in tensors[name].shape)
            entry = _field(1, _DTYPE_CODES[dtype]) + _field(2, shape)
            entry += _field(4, offset) + _field(5, octets.size)
            entry += _varint(6 << 3 | 5) + _u32(masked_crc32c(octets))
            records.append((name.encode(), entry))
            offset += octets.size
    # Last, so that a first write cut short leaves no bundle at all.
    _index_file(prefix).write_bytes(_table(records))


def _index_file(prefix: Path) -> Path:
    return Path(f"{prefix}.index")


def _data_file(prefix: Path, shard: int, shards: int) -> Path:
    return Path(f"{prefix}.data-{shard:05d}-of-{shards:05d}")


# Reading: what the bytes claim is checked before it is used to slice or to allocate.


class _Cursor:
    """A position in some bytes of `file` that never runs past their end."""

    def __init__(self, file: Path, data: bytes) -> None:
        self.file = file
        self.data = data
        self.position = 0

    def at_end(self) -> bool:
        return self.position == len(self.data)

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.position:
            raise FormatError(self.file, "is damaged: a length runs past the end of its block")
        self.position += count
        return self.data[self.position - count : self.position]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):  # ten bytes hold 64 bits
            octet = self.take(1)[0]
            value |= (octet & 0x7F) << shift
            if octet < 0x80:
                return value
        raise FormatError(self.file, "is damaged: an integer has more than 64 bits")


def _read_table(file: Path) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of all data blocks, in order."""
    try:
        size = file.stat().st_size
        if not _FOOTER_SIZE <= size <= _MOST_INDEX_BYTES:
            expected = f"{_FOOTER_SIZE} to {_MOST_INDEX_BYTES} bytes"
            raise FormatError(file, "is no checkpoint index", found=size, expected=expected)
        contents = file.read_bytes()
    except OSError as error:
        raise FormatError(file, f"cannot be read: {error.strerror}") from error
    if not contents.endswith(_MAGIC):
        raise FormatError(file, "is no checkpoint index, or is cut short: no magic at its end")
    footer = _Cursor(file, contents[-_FOOTER_SIZE:-8])
    footer.varint()  # the handle of the metaindex block, which TensorFlow leaves empty
    footer.varint()
    index = _read_block(file, contents, footer.varint(), footer.varint())
    end, key_bytes, last_key = 0, 0, None
    for _, value in _read_records(file, index):
        handle = _Cursor(file, value)
        offset, size = handle.varint(), handle.varint()
        if offset < end:  # so that many handles of one block cannot keep us busy for ever
            raise FormatError(file, "is damaged: its blocks are out of order")
        end = offset + size
        for key, record in _read_records(file, _read_block(file, contents, offset, size)):
            key_bytes += len(key)
            if (last_key is not None and key <= last_key) or key_bytes > _MOST_INDEX_BYTES:
                raise FormatError(file, "is damaged: its keys are out of order or too long")
            last_key = key
            yield key, record


def _read_block(file: Path, contents: bytes, offset: int, size: int) -> bytes:
    end = offset + size
    if end + _TRAILER_SIZE > len(contents) - _FOOTER_SIZE:
        raise FormatError(file, "is damaged: a block lies outside the file")
    stored = contents[end + 1 : end + _TRAILER_SIZE]
    if _u32(masked_crc32c(contents[offset : end + 1])) != stored:
        raise FormatError(file, "is damaged: a block's checksum does not match")
    if contents[end] != 0:
        found = "snappy" if contents[end] == 1 else f"type {contents[end]}"
        raise FormatError(file, "has a compressed block", found=found, expected="no compression")
    return contents[offset:end]


def _read_records(file: Path, block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise FormatError(file, "is damaged: a block is too short for its restart points")
    cursor = _Cursor(file, block[:end])
    key = b""
    while not cursor.at_end():
        shared, fresh, length = cursor.varint(), cursor.varint(), cursor.varint()
        if shared > len(key):
            raise FormatError(file, "is damaged: a key shares more than the last key has")
        key = key[:shared] + cursor.take(fresh)
        yield key, cursor.take(length)


def _read_message(file: Path, data: bytes) -> tuple[dict[int, int], dict[int, list[bytes]]]:
    """A protocol buffer's fields by number: its integers (the last of each) and its strings."""
    integers: dict[int, int] = {}
    strings: dict[int, list[bytes]] = {}
    cursor = _Cursor(file, data)
    while not cursor.at_end():
        number, wire_type = divmod(cursor.varint(), 8)
        if wire_type == 0:
            integers[number] = cursor.varint()
        elif wire_type in (1, 5):
            integers[number] = int.from_bytes(cursor.take(8 if wire_type == 1 else 4), "little")
        elif wire_type == 2:
            strings.setdefault(number, []).append(cursor.take(cursor.varint()))
        else:
            raise FormatError(file, "is damaged: unknown kind of field", found=wire_type)
    return integers, strings


def _read_header(file: Path, key: bytes | None, value: bytes) -> int:
    """The number of shards."""
    if key != b"":
        raise FormatError(file, "has no bundle header", expected='"" as first key', found=key)
    integers, strings = _read_message(file, value)
    version, _ = _read_message(file, b"".join(strings.get(3, [])))
    shards, endianness, oldest_reader = integers.get(1, 0), integers.get(2, 0), version.get(2, 0)
    if endianness != 0:
        raise FormatError(file, "is big endian", expected="little endian")
    if oldest_reader > _BUNDLE_VERSION:
        raise FormatError(file, "version", found=oldest_reader, expected=_BUNDLE_VERSION)
    if not 1 <= shards <= 99999:
        raise FormatError(file, "number of shards", found=shards, expected="1 to 99999")
    return shards


def _read_entry(file: Path, name: str, value: bytes, shards: int) -> Entry:
    integers, strings = _read_message(file, value)
    code, shard, offset, size = (integers.get(number, 0) for number in (1, 3, 4, 5))
    dtype, obstacle = _DTYPES.get(code), ""
    if 7 in strings:
        dtype, obstacle = None, "holds a variable in partitions, which cannot be read"
    elif dtype is None:
        kind = _OTHER_DTYPES.get(code, f"number {code}")
        obstacle = f"holds a tensor of TensorFlow's dtype {kind}, which cannot be read"

    # A message that comes in pieces is their concatenation. A negative integer arrives as one of
    # 2 ** 63 or more, which no bound lets pass.
    _, shape_strings = _read_message(file, b"".join(strings.get(2, [])))
    dimensions = shape_strings.get(2, [])[: _MOST_DIMENSIONS + 1]
    shape = tuple(_read_message(file, dimension)[0].get(1, 0) for dimension in dimensions)
    # numpy bounds the shape of empty arrays too, hence the ones for zeros.
    elements = math.prod(max(length, 1) for length in shape)
    if len(shape) > _MOST_DIMENSIONS or elements > _MOST_ELEMENTS:
        raise FormatError(file, "is damaged: impossible shape", key=name, found=shape)
    if dtype is not None and math.prod(shape) * dtype.itemsize != size:
        found = f"{size} bytes for shape {shape} of {dtype}"
        raise FormatError(file, "is damaged: size of a tensor", key=name, found=found)
    if shard >= shards:
        raise FormatError(file, "shard", key=name, found=shard, expected=f"less than {shards}")
    return Entry(dtype, shape, shard, offset, size, integers.get(6, 0), obstacle)


# Writing.


def _table(records: list[tuple[bytes, bytes]]) -> bytes:
    contents = bytearray()

    def append(block: bytes) -> bytes:
        handle = _varint(len(contents)) + _varint(len(block))
        contents.extend(block + b"\0" + _u32(masked_crc32c(block + b"\0")))
        return handle

    handles = []
    for start in range(0, len(records), _RECORDS_PER_BLOCK):
        some = records[start : start + _RECORDS_PER_BLOCK]
        handles.append((some[-1][0], append(_block(some))))  # a block's last key finds it
    footer = append(_block([])) + append(_block(handles))
    return bytes(contents) + footer.ljust(_FOOTER_SIZE - len(_MAGIC), b"\0") + _MAGIC


def _block(records: list[tuple[bytes, bytes]]) -> bytes:
    contents = bytearray()
    restarts = []
    for key, value in records:  # each a restart: a few bytes saved are not worth sharing prefixes
        restarts.append(len(contents))
        contents += _varint(0) + _varint(len(key)) + _varint(len(value)) + key + value
    restarts = restarts or [0]  # LevelDB wants at least one, even where there is no record
    return bytes(contents) + b"".join(map(_u32, restarts)) + _u32(len(restarts))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    return _varint(number << 3) + _varint(value) if value else b""  # zeros are left out


def _varint(value: int) -> bytes:
    octets = bytearray()
    while value >= 0x80:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*octets, value])


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")
