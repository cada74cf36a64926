"""TensorFlow's checkpoints: hand-checked bytes, round trips, and damage of every kind."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from elmokit.errors import FormatError, InputError
from elmokit.formats import tensor_bundle
from elmokit.formats.crc32c import masked_crc32c
from elmokit.formats.tensor_bundle import TensorBundle, write_bundle

Tensors = dict[str, npt.NDArray[Any]]

# What tf.compat.v1.train.Saver (2.15.1) writes for a = [1, 2] (float32) and ab = 7 (int64).
SAVER_TENSORS: Tensors = {"a": np.array([1, 2], np.float32), "ab": np.array(7, np.int64)}
SAVER_DATA = bytes.fromhex("0000803f 00000040 0700000000000000")
SAVER_INDEX = bytes.fromhex(
    # Data block. Key "" (shares 0, adds 0, 6 bytes): one shard, version { producer: 1 }.
    "00 00 06  08 01  1a 02 08 01"
    # Key "a" (0, 1, 15): DT_FLOAT, shape { dim { size: 2 } }, size 8, masked crc32c.
    "00 01 0f 61  08 01  12 04 12 02 08 02  28 08  35 593ce535"
    # Key "ab" (shares 1, adds 1, 13): DT_INT64, shape {}, offset 8, size 8, masked crc32c.
    "01 01 0d 62  08 09  12 00  20 08  28 08  35 bbd79f11"
    # One restart point, at 0; not compressed; masked crc32c.
    "00000000 01000000  00 150658b0"
    # Metaindex block, empty.
    "00000000 01000000  00 c0f2a1b0"
    # Index block: keys up to "b" are in the block at 0 of 53 bytes.
    "00 01 02 62  00 35  00000000 01000000  00 1d0e1d6c"
    # Footer: metaindex block at 58 of 8 bytes, index block at 71 of 14, padding, magic.
    "3a 08  47 0e" + "00" * 36 + "57fb808b247547db"
)

# The same tensors as write_bundle stores them; TensorFlow reads these bytes.
WRITTEN_INDEX = bytes.fromhex(
    "00 00 06  08 01  1a 02 08 01"
    "00 01 0f 61  08 01  12 04 12 02 08 02  28 08  35 593ce535"
    "00 02 0d 61 62  08 09  12 00  20 08  28 08  35 bbd79f11"
    "00000000 09000000 1c000000 03000000  00 eaace787"
    "00000000 01000000  00 c0f2a1b0"
    "00 02 02 61 62  00 3e  00000000 01000000  00 d9d61716"
    "43 08  50 0f" + "00" * 36 + "57fb808b247547db"
)


def index_file(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + ".index")


def data_file(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + ".data-00000-of-00001")


def varied_tensors() -> Tensors:
    generator = np.random.default_rng(5)
    tensors: Tensors = {
        "lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel": generator.random(
            (8, 12), np.float32
        ),
        "lm/global_step": np.array(12345, np.int64),
        "double": generator.random((2, 3, 4)),
        "half": generator.random(5).astype(np.float16),
        "whole": generator.integers(-9, 9, (3, 1)).astype(np.int32),
        "empty": np.zeros((0, 7), np.float32),
        "größe/字": np.array([np.nan, np.inf, -0.0], np.float32),
    }
    return tensors | {f"many/variable_{n}": np.full(n % 4, n, np.int32) for n in range(150)}


def assert_holds(bundle: TensorBundle, tensors: Tensors) -> None:
    assert bundle.names == sorted(tensors, key=str.encode)
    for name, tensor in tensors.items():
        found = bundle.read(name)
        assert found.dtype == tensor.dtype
        assert found.shape == bundle.shape(name) == tensor.shape
        assert found.tobytes() == tensor.tobytes()


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """The prefix of SAVER_TENSORS as TensorFlow wrote them."""
    prefix = tmp_path / "model.ckpt-42"
    index_file(prefix).write_bytes(SAVER_INDEX)
    data_file(prefix).write_bytes(SAVER_DATA)
    return prefix


def forge(prefix: Path, *records: tuple[bytes, bytes], header: bytes = b"\x08\x01") -> None:
    """Write an index with valid checksums, whatever its records say."""
    index_file(prefix).write_bytes(tensor_bundle._table([(b"", header), *records]))


def entry(**fields: int | bytes) -> bytes:
    """A BundleEntryProto: a float32 of shape [2], with `fields` in place of the usual ones."""
    numbers = {"dtype": 1, "shape": 2, "shard": 3, "offset": 4, "size": 5, "slices": 7}
    usual: dict[str, int | bytes] = {"dtype": 1, "shape": shape(2), "size": 8}
    crc = b"\x35" + masked_crc32c(SAVER_DATA[:8]).to_bytes(4, "little")
    both = (usual | fields).items()
    return crc + b"".join(tensor_bundle._field(numbers[name], value) for name, value in both)


def shape(*lengths: int) -> bytes:
    field = tensor_bundle._field
    return b"".join(field(2, field(1, length)) for length in lengths)


def test_reads_what_tensorflow_wrote(prefix: Path) -> None:
    assert_holds(TensorBundle(prefix), SAVER_TENSORS)


def test_writes_what_tensorflow_reads(tmp_path: Path) -> None:
    prefix = tmp_path / "written"
    write_bundle(prefix, SAVER_TENSORS)
    assert index_file(prefix).read_bytes() == WRITTEN_INDEX
    assert data_file(prefix).read_bytes() == SAVER_DATA


def test_round_trip(tmp_path: Path) -> None:
    tensors = varied_tensors()
    write_bundle(tmp_path / "model", tensors)
    assert_holds(TensorBundle(tmp_path / "model"), tensors)


def test_no_tensors(tmp_path: Path) -> None:
    write_bundle(tmp_path / "model", {})
    assert TensorBundle(tmp_path / "model").names == []


def test_any_memory_layout_is_stored_row_major_and_little_endian(tmp_path: Path) -> None:
    plain = np.arange(24, dtype=np.float32).reshape(4, 6)
    layouts = {"columns": np.asfortranarray(plain), "big": plain.astype(">f4")}
    write_bundle(tmp_path / "model", layouts | {"strided": plain[::2, ::3]})
    expected = {"columns": plain, "big": plain, "strided": plain[::2, ::3]}
    assert_holds(TensorBundle(tmp_path / "model"), expected)


def test_arrays_are_the_callers_own(prefix: Path) -> None:
    TensorBundle(prefix).read("a")[0] = 9
    assert_holds(TensorBundle(prefix), SAVER_TENSORS)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("", np.zeros(2)),
        ("\0part", np.zeros(2)),
        ("\ud800", np.zeros(2)),
        ("text", np.array(["a"])),
        ("flag", np.array(True)),
        ("objects", np.array([None])),
        ("complex", np.zeros(1, np.complex64)),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, tensor: npt.NDArray[Any]) -> None:
    with pytest.raises(InputError) as caught:
        write_bundle(tmp_path / "model", {"fine": np.zeros(2), name: tensor})
    assert repr(name) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_several_shards(prefix: Path) -> None:
    forge(prefix, (b"a", entry(shard=1, offset=1)), header=b"\x08\x02")
    data_file(prefix).unlink()
    second = prefix.with_name(prefix.name + ".data-00001-of-00002")
    second.write_bytes(b"?" + SAVER_DATA[:8])
    assert_holds(TensorBundle(prefix), {"a": SAVER_TENSORS["a"]})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": 7, "size": 99}, "DT_STRING"),
        ({"dtype": 14, "size": 4}, "DT_BFLOAT16"),
        ({"dtype": 23}, "dtype number 23"),
        ({"dtype": 0}, "dtype number 0"),
        ({"slices": b"", "size": 0}, "in partitions"),
    ],
)
def test_what_cannot_be_read_spares_the_rest(
    prefix: Path, fields: dict[str, int | bytes], message: str
) -> None:
    part = (b"\0\x01a\0\x01\xff", entry(size=8))  # TensorFlow's key for a part of a variable
    forge(prefix, part, (b"a", entry()), (b"odd", entry(**fields)))
    bundle = TensorBundle(prefix)
    assert bundle.names == ["a", "odd"]
    assert bundle.shape("odd") == (2,)
    assert bundle.read("a").tolist() == [1, 2]
    with pytest.raises(FormatError, match=rf"model\.ckpt-42\.index: .*{message}.*'odd'"):
        bundle.read("odd")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 12}, r"12 bytes for shape \(2,\) of float32"),
        ({"size": 1 << 40}, "1099511627776 bytes"),
        ({"shape": shape(1 << 62, 4), "size": 0}, "impossible shape"),
        ({"shape": shape(0, 1 << 62), "size": 0}, "impossible shape"),
        ({"shape": shape((1 << 64) - 1)}, "impossible shape"),
        ({"shape": shape(*[1] * 33), "size": 4}, "impossible shape"),
        ({"shape": b"\x12\x7f"}, "a length runs past the end"),
        ({"shape": b"\x12\x0b\x08" + b"\xff" * 10}, "more than 64 bits"),
        ({"shape": b"\x13"}, "unknown kind of field: found 3"),
        ({"shard": 1}, "shard .*: expected less than 1, found 1"),
        ({"shard": (1 << 64) - 1}, "shard .*: expected less than 1"),
    ],
)
def test_impossible_entries(prefix: Path, fields: dict[str, int | bytes], message: str) -> None:
    forge(prefix, (b"odd", entry(**fields)))
    with pytest.raises(FormatError, match=message) as caught:
        TensorBundle(prefix)
    assert caught.value.file == index_file(prefix)


@pytest.mark.parametrize("offset", [9, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_offsets_past_the_data(prefix: Path, offset: int) -> None:
    forge(prefix, (b"odd", entry(offset=offset)))
    bundle = TensorBundle(prefix)
    with pytest.raises(FormatError, match=f"expected {offset + 8} or more, found 16") as caught:
        bundle.read("odd")
    assert caught.value.file == data_file(prefix)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "number of shards: expected 1 to 99999, found 0"),
        (b"\x08" + b"\xff" * 9 + b"\x01", "number of shards"),
        (b"\x08\x01\x10\x01", "is big endian"),
        (b"\x08\x01\x1a\x02\x10\x02", "version: expected 1, found 2"),
        (b"\x08", "a length runs past the end"),
    ],
)
def test_impossible_headers(prefix: Path, header: bytes, message: str) -> None:
    forge(prefix, header=header)
    with pytest.raises(FormatError, match=message):
        TensorBundle(prefix)


@pytest.mark.parametrize("records", [[], [(b"a", entry())]])
def test_no_header(prefix: Path, records: list[tuple[bytes, bytes]]) -> None:
    index_file(prefix).write_bytes(tensor_bundle._table(records))
    with pytest.raises(FormatError, match="no bundle header"):
        TensorBundle(prefix)


def test_names_that_are_not_utf8_are_escaped(prefix: Path) -> None:
    forge(prefix, (b"a\xff", entry()))
    assert TensorBundle(prefix).names == ["a\\xff"]


@pytest.mark.parametrize("keys", [(b"b", b"a"), (b"a", b"a")])
def test_keys_out_of_order(prefix: Path, keys: tuple[bytes, bytes]) -> None:
    forge(prefix, *((key, entry()) for key in keys))
    with pytest.raises(FormatError, match="keys are out of order"):
        TensorBundle(prefix)


def sealed(block: bytes, compression: int = 0) -> bytes:
    """A block with its trailer."""
    whole = block + bytes([compression])
    return whole + masked_crc32c(whole).to_bytes(4, "little")


def seal_table(file: Path, data: bytes, handles: list[tuple[int, int]]) -> None:
    """Write a table of sealed blocks `data`, of which the index block names `handles`."""
    varint = tensor_bundle._varint
    values = [varint(offset) + varint(size) for offset, size in handles]
    index = tensor_bundle._block([(b"%03d" % number, value) for number, value in enumerate(values)])
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index))
    magic = bytes.fromhex("57fb808b247547db")
    file.write_bytes(data + sealed(index) + footer.ljust(40, b"\0") + magic)


HEADER_BLOCK = b"\x00\x00\x02\x08\x01" + bytes(4) + b"\x01\x00\x00\x00"


def test_a_table_of_sealed_blocks(prefix: Path) -> None:
    seal_table(index_file(prefix), sealed(HEADER_BLOCK), [(0, len(HEADER_BLOCK))])
    assert TensorBundle(prefix).names == []


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (b"", "too short for its restart points"),
        (b"\x01\x00\x00", "too short for its restart points"),
        (b"\xff\xff\xff\xff", "too short for its restart points"),
        (bytes(8) + b"\x02\x00\x00\x00", "no bundle header"),
        (b"\x01\x00\x02\x08\x01" + bytes(4), "shares more than the last key has"),
        (b"\x00\x7f\x02\x08\x01" + bytes(4), "a length runs past the end"),
        (b"\x00\x00\x7f\x08\x01" + bytes(4), "a length runs past the end"),
        (b"\x00\x00" + bytes(4), "a length runs past the end"),
        (b"\x80" * 11 + bytes(4), "more than 64 bits"),
    ],
)
def test_damaged_blocks(prefix: Path, block: bytes, message: str) -> None:
    seal_table(index_file(prefix), sealed(block), [(0, len(block))])
    with pytest.raises(FormatError, match=message):
        TensorBundle(prefix)


@pytest.mark.parametrize(
    ("handles", "message"),
    [
        ([(0, 13), (0, 13)], "blocks are out of order"),
        ([(0, 13), (12, 1)], "blocks are out of order"),
        ([(0, 1 << 62)], "a block lies outside the file"),
        ([(1 << 62, 13)], "a block lies outside the file"),
        ([(0, 14)], "a block's checksum does not match"),
        ([(1, 12)], "a block's checksum does not match"),
        ([], "no bundle header"),
    ],
)
def test_wrong_handles(prefix: Path, handles: list[tuple[int, int]], message: str) -> None:
    assert len(HEADER_BLOCK) == 13
    seal_table(index_file(prefix), sealed(HEADER_BLOCK), handles)
    with pytest.raises(FormatError, match=message):
        TensorBundle(prefix)


@pytest.mark.parametrize(("compression", "name"), [(1, "snappy"), (9, "type 9")])
def test_compressed_blocks(prefix: Path, compression: int, name: str) -> None:
    data = sealed(HEADER_BLOCK, compression)
    seal_table(index_file(prefix), data, [(0, len(HEADER_BLOCK))])
    with pytest.raises(FormatError, match=f"expected no compression, found {name}"):
        TensorBundle(prefix)


def test_shared_prefixes_cannot_claim_much_memory(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = bytes([len(entry())])
    block = b"\x00\x00\x02\x08\x01" + b"\x00\x64" + value + b"k" * 100 + entry()
    for octet in range(60):  # five bytes each beside the entry, for a key of 101
        block += b"\x64\x01" + value + bytes([octet]) + entry()
    block += bytes(4) + b"\x01\x00\x00\x00"
    seal_table(index_file(prefix), sealed(block), [(0, len(block))])
    assert len(TensorBundle(prefix).names) == 61
    size = index_file(prefix).stat().st_size
    monkeypatch.setattr(tensor_bundle, "_MOST_INDEX_BYTES", size)
    with pytest.raises(FormatError, match="out of order or too long"):
        TensorBundle(prefix)
    monkeypatch.setattr(tensor_bundle, "_MOST_INDEX_BYTES", size - 1)
    with pytest.raises(FormatError, match=f"expected 48 to {size - 1} bytes, found {size}"):
        TensorBundle(prefix)


@pytest.mark.parametrize("contents", [b"", b"PK\x03\x04", bytes(48), b"text " * 100])
def test_not_an_index(prefix: Path, contents: bytes) -> None:
    index_file(prefix).write_bytes(contents)
    with pytest.raises(FormatError, match=r"model\.ckpt-42\.index: is no checkpoint index"):
        TensorBundle(prefix)


def test_unknown_name(prefix: Path) -> None:
    bundle = TensorBundle(prefix)
    questions: list[Callable[[str], object]] = [bundle.read, bundle.shape]
    for question in questions:
        with pytest.raises(FormatError, match=r"has no such tensor .*'lm/absent'"):
            question("lm/absent")


@pytest.mark.parametrize("a_folder_instead", [False, True])
def test_files_that_cannot_be_opened(prefix: Path, a_folder_instead: bool) -> None:
    bundle = TensorBundle(prefix)
    for file in (data_file(prefix), index_file(prefix)):
        file.unlink()
        if a_folder_instead:
            file.mkdir()
    with pytest.raises(FormatError, match=r"data-00000-of-00001: cannot be read.*'a'"):
        bundle.read("a")
    with pytest.raises(FormatError, match=r"model\.ckpt-42\.index: "):
        TensorBundle(prefix)


def test_damaged_tensor(prefix: Path) -> None:
    data_file(prefix).write_bytes(b"\xff" + SAVER_DATA[1:])
    bundle = TensorBundle(prefix)
    assert bundle.read("ab") == 7
    with pytest.raises(FormatError, match=r"checksum does not match .*'a'") as caught:
        bundle.read("a")
    assert caught.value.file == data_file(prefix)


def damaged(contents: bytes, dice: random.Random) -> bytes:
    """`contents` with one thing wrong: cut, lengthened, a piece moved, or some bytes changed."""
    mutable = bytearray(contents)
    position = dice.randrange(len(contents))
    match dice.randrange(5):
        case 0:
            del mutable[position:]
        case 1:
            del mutable[position : position + dice.randint(1, 9)]
        case 2:
            mutable[position:position] = dice.randbytes(dice.randint(1, 9))
        case 3:
            other = dice.randrange(len(contents))
            mutable[position : position + 8] = contents[other : other + 8]
        case _:
            for _ in range(dice.randint(1, 3)):
                mutable[dice.randrange(len(mutable))] ^= 1 << dice.randrange(8)
    return bytes(mutable)


@pytest.mark.parametrize("writer", ["TensorFlow", "elmokit"])
def test_damage_is_told_or_harmless(prefix: Path, writer: str) -> None:
    tensors = SAVER_TENSORS if writer == "TensorFlow" else varied_tensors()
    if writer == "elmokit":
        write_bundle(prefix, tensors)
    dice = random.Random(11)
    told = 0
    for file in (index_file(prefix), data_file(prefix)):
        intact = file.read_bytes()
        for _ in range(400):
            file.write_bytes(damaged(intact, dice))
            try:
                assert_holds(TensorBundle(prefix), tensors)
            except FormatError as error:
                told += 1
                assert error.file in (index_file(prefix), data_file(prefix))
        file.write_bytes(intact)
    assert told > 400  # harmless: the footer's padding, or bytes after the last tensor


def test_every_byte_and_every_length_of_an_index(prefix: Path) -> None:
    for position in range(len(SAVER_INDEX)):
        index_file(prefix).write_bytes(SAVER_INDEX[:position])
        with pytest.raises(FormatError):
            TensorBundle(prefix)
        for octet in (0x00, 0x7F, 0x80, 0xFF):
            changed = SAVER_INDEX[:position] + bytes([octet]) + SAVER_INDEX[position + 1 :]
            index_file(prefix).write_bytes(changed)
            try:
                assert_holds(TensorBundle(prefix), SAVER_TENSORS)
            except FormatError as error:
                assert error.file == index_file(prefix)


def test_hostile_bytes_behind_valid_checksums(prefix: Path) -> None:
    dice = random.Random(12)
    block = SAVER_INDEX[:53]
    for _ in range(600):
        forged = damaged(block, dice)
        seal_table(index_file(prefix), sealed(forged), [(0, len(forged))])
        try:
            bundle = TensorBundle(prefix)
        except FormatError:
            continue
        for name in bundle.names:
            try:
                assert bundle.read(name).shape == bundle.shape(name)
            except FormatError:
                continue
