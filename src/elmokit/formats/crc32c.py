"""CRC-32C (Castagnoli) with numpy alone, fast enough for tensors of gigabytes.

The checksum is the remainder of the message, read as a polynomial over GF(2), so it is linear:
pushing a 32-bit word past n zero bits is a linear map, kept here as two tables (one per half of
the word). The message is cut into rows of `lanes` words and summed as in Horner's rule, all lanes
of a row at once; the one row that remains has the same remainder and is folded in half until a
single word is left.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Tables = tuple[Words, Words]

_WORD = np.dtype("<u4")
_POLYNOMIAL = 0x82F63B78  # bit-reversed, as the register is
_BITS_PER_WORD_LOG2 = 5
_MOST_LANES_LOG2 = 14  # 64 KiB rows: one row and both tables stay in the processor's cache

# These four bytes take the register from zero to the all-ones value that CRC-32C starts from.
# With them in front of a message, any number of zero bytes may stand before: padding is free.
_START = np.frombuffer(bytes.fromhex("54641f64"), np.uint8)


def crc32c(data: bytes | memoryview | npt.NDArray[np.uint8]) -> int:
    """The CRC-32C of C-contiguous `data`, as an unsigned 32-bit integer."""
    octets = np.frombuffer(data, np.uint8)
    words = -(-(_START.size + octets.size) // _WORD.itemsize)
    lanes_log2 = min((words - 1).bit_length(), _MOST_LANES_LOG2)
    row_size = _WORD.itemsize << lanes_log2

    # The head is what does not fill whole rows; with the start bytes it may need two.
    head_size = octets.size % row_size
    head = np.zeros(2 * row_size, np.uint8)
    head[head.size - head_size - _START.size :][: _START.size] = _START
    head[head.size - head_size :] = octets[:head_size]

    past_one_row = _tables(lanes_log2 + _BITS_PER_WORD_LOG2)
    row, second = head.view(_WORD).reshape(2, -1)
    row = _push(row, past_one_row) ^ second  # [lanes]
    for start in range(head_size, octets.size, row_size):
        row = _push(row, past_one_row) ^ octets[start : start + row_size].view(_WORD)

    for half_log2 in reversed(range(lanes_log2)):
        first, second = row.reshape(2, -1)
        row = _push(first, _tables(half_log2 + _BITS_PER_WORD_LOG2)) ^ second  # [2 ** half_log2]
    return int(_push(row, _tables(_BITS_PER_WORD_LOG2))[0]) ^ 0xFFFFFFFF


def masked_crc32c(data: bytes | memoryview | npt.NDArray[np.uint8]) -> int:
    """The CRC-32C rotated and offset, the form that LevelDB and TensorFlow store in files."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _push(words: Words, tables: Tables) -> Words:
    low, high = tables
    pushed: Words = low.take(words & 0xFFFF) ^ high.take(words >> 16)
    return pushed


@cache
def _tables(bits_log2: int) -> Tables:
    """Tables of the map that pushes a word past 2 ** bits_log2 zero bits."""
    if bits_log2 == 0:
        images = np.array([_POLYNOMIAL, *(1 << bit for bit in range(31))], _WORD)
    else:
        # Pushing past 2n bits is pushing past n bits twice; a single bit's image defines the map.
        half_way = _tables(bits_log2 - 1)
        images = _push(_push(np.left_shift(1, np.arange(32)).astype(_WORD), half_way), half_way)
    return _span(images[:16]), _span(images[16:])


def _span(images: Words) -> Words:
    """Entry n is the sum (exclusive or) of the images that the bits of n select: [65536]."""
    table = np.zeros(1, _WORD)
    for image in images:
        table = np.concatenate([table, table ^ image])
    return table
