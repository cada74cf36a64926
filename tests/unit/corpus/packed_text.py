"""Some text, and every way to pack it."""

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest
import zstandard

Compress = Callable[[bytes], bytes]
COMPRESSIONS: dict[str, tuple[str, Compress]] = {
    "gzip": (".gz", gzip.compress),
    "xz": (".xz", lzma.compress),
    "bzip2": (".bz2", bz2.compress),
    "zstd": (".zst", zstandard.ZstdCompressor(write_checksum=True).compress),
}
# Enough that it does not fit into one read.
TEXT = b"".join(b"line %d of %d\n" % (number, number**7) for number in range(4000))

each_compression = pytest.mark.parametrize("name", COMPRESSIONS)
