"""Files of embedded sentences: HDF5 as ``allennlp elmo`` writes it, npz, Parquet.

Each writer takes sentences one by one and keeps next to nothing, however many there are. The file
appears under its name only when it is complete.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from elmokit.embed.hdf5_writer import Hdf5Writer
from elmokit.embed.npz_writer import MOST_TOKEN_CHARACTERS, NpzWriter
from elmokit.embed.parquet_writer import ParquetWriter, load_pyarrow
from elmokit.embed.sentence_index import MOST_BYTES as MOST_INDEX_BYTES
from elmokit.errors import InputError
from elmokit.files import check_parent, replacing_file

HDF5_SUFFIXES = (".h5", ".hdf5")
NPZ_SUFFIX = ".npz"
PARQUET_SUFFIX = ".parquet"
SUFFIXES = (*HDF5_SUFFIXES, NPZ_SUFFIX, PARQUET_SUFFIX)


class Writer(Protocol):
    """Takes the sentences of a file in their order."""

    def write(self, text: str, tokens: Sequence[str], vectors: npt.NDArray[np.floating]) -> None:
        """Append one sentence; a sentence without tokens keeps its place."""


@contextmanager
def writing(output: Path) -> Iterator[Writer]:
    """Give the writer for the suffix of ``output``."""
    check_output(output)
    with replacing_file(output) as partial:
        opened: NpzWriter | ParquetWriter | Hdf5Writer
        if output.suffix == NPZ_SUFFIX:
            opened = NpzWriter(partial)
        elif output.suffix == PARQUET_SUFFIX:
            opened = ParquetWriter(partial)
        else:
            opened = Hdf5Writer(partial)
        try:
            yield opened
            opened.finish()
        finally:
            opened.close()


def check_output(output: Path, *, text_bytes: int = 0) -> None:
    """Refuse an output that cannot be written, before any work is done.

    ``text_bytes`` is the size of the text, where it is known.
    """
    if output.suffix not in SUFFIXES:
        raise InputError(
            f"output: expected a name that ends in {', '.join(SUFFIXES)}, found {output}"
        )
    if output.is_dir():
        raise InputError(f"output: {output} is a folder")
    check_parent(output)
    if output.suffix == PARQUET_SUFFIX:
        load_pyarrow()
    elif text_bytes > (most := _most_text_bytes(output.suffix)):
        raise InputError(
            f"output: a {output.suffix} file holds the sentences of at most {most / 1e6:,.0f} MB "
            f"of text, found {text_bytes / 1e6:,.0f} MB; write a {PARQUET_SUFFIX} file, or "
            "several from parts of the text"
        )


def _most_text_bytes(suffix: str) -> int:
    # JSON is no shorter than the text that it stands for, but for repeated white space.
    return MOST_TOKEN_CHARACTERS if suffix == NPZ_SUFFIX else MOST_INDEX_BYTES
