"""CRC-32C against published values and a bit-by-bit reference."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.formats.crc32c import crc32c, masked_crc32c


def reference_of_prefixes(data: bytes) -> Iterator[int]:
    """The CRC-32C of data[:0], data[:1], ... data, one bit at a time."""
    register = 0xFFFFFFFF
    yield register ^ 0xFFFFFFFF
    for octet in data:
        register ^= octet
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
        yield register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0x00000000),
        (b"a", 0xC1D04330),
        (b"123456789", 0xE3069283),
        # RFC 3720, appendix B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_published_values(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def test_every_length_up_to_5000() -> None:
    data = np.random.default_rng(1).bytes(5000)
    for length, expected in enumerate(reference_of_prefixes(data)):
        assert crc32c(data[:length]) == expected, length


def test_lengths_around_whole_rows() -> None:
    row = 4 << 14
    data = np.random.default_rng(2).bytes(3 * row + 8)
    expected = list(reference_of_prefixes(data))
    for rows in (1, 2, 3):
        for length in range(rows * row - 8, rows * row + 9):
            assert crc32c(data[:length]) == expected[length], length


@given(st.binary(max_size=5000))
def test_equals_the_bitwise_reference(data: bytes) -> None:
    *_, expected = reference_of_prefixes(data)
    assert crc32c(data) == expected


def test_any_buffer_at_any_alignment() -> None:
    data = np.random.default_rng(3).integers(0, 256, 200_003, np.uint8)
    for start in range(4):
        expected = crc32c(data[start:].tobytes())
        assert crc32c(data[start:]) == crc32c(data.data[start:]) == expected


def test_masked_form() -> None:
    # rotate right by 15, add 0xA282EAD8: 0xE3069283 -> 0x2507C60D -> 0xC78AB0E5
    assert masked_crc32c(b"123456789") == 0xC78AB0E5
