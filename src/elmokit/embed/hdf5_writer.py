"""Embedded sentences as ``allennlp elmo`` writes them: one HDF5 dataset each.

h5py's lower layer is used for them, which takes half the time.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from h5py import h5a, h5d, h5f, h5p, h5s, h5t

from elmokit.embed.sentence_index import SentenceIndex

INDEX = "sentence_to_index"

# As it is in the file; in memory it takes ten times as much.
METADATA_BYTES_KEPT = 8 * 2**20

_TYPES = {name: h5t.py_create(np.dtype(name)) for name in ("float32", "float16")}


class Hdf5Writer:
    """Datasets ``"0"``, ``"1"``... and ``sentence_to_index``, a JSON object in a string.

    Beyond the old layout each dataset has its tokens as JSON in the attribute ``tokens``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = h5py.File(h5f.create(os.fsencode(path), h5f.ACC_TRUNC, fapl=_access()))
        self._layout = h5p.create(h5p.DATASET_CREATE)
        self._layout.set_fill_time(h5d.FILL_TIME_NEVER)
        self._layout.set_obj_track_times(False)
        self._string = h5t.py_create(h5py.string_dtype(), logical=True)
        self._scalar = h5s.create(h5s.SCALAR)
        self._cell = np.empty((), dtype=h5py.string_dtype())
        self._index = SentenceIndex(path.parent)
        self._count = 0

    def write(self, text: str, tokens: Sequence[str], vectors: npt.NDArray[np.floating]) -> None:
        """Append one sentence."""
        key = str(self._count)
        number = _TYPES[vectors.dtype.name]
        shape = h5s.create_simple(vectors.shape)
        dataset = h5d.create(self._file.id, key.encode(), number, shape, self._layout)
        dataset.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(vectors), number)
        self._cell[()] = json.dumps(list(tokens))
        attribute = h5a.create(dataset, b"tokens", self._string, self._scalar)
        attribute.write(self._cell)
        # Errors that come up when an object is dropped would be lost.
        attribute.close()
        dataset.close()
        self._index.add(text.strip(), key)
        self._count += 1

    def finish(self) -> None:
        """Write what comes last."""
        if not self._index.is_on_disk:
            index = self._file.create_dataset(INDEX, (1,), dtype=h5py.string_dtype())
            index[0] = self._index.text()
            self._file.close()
            return
        content = self._index.stream()
        place = self._reserve(os.fstat(content.fileno()).st_size)
        self._file.close()
        with self._path.open("r+b") as stream:
            stream.seek(place)
            shutil.copyfileobj(content, stream, 2**20)

    def close(self) -> None:
        """Close what is open, after an error too."""
        self._index.close()
        with suppress(OSError, RuntimeError):  # the disk may still be full, and nobody asks
            self._file.close()

    def _reserve(self, size: int) -> int:
        """Make the index of a long string without its content; say where in the file it is.

        HDF5 would want the whole string in memory, more than once.
        """
        string = h5t.C_S1.copy()
        string.set_size(size)
        string.set_strpad(h5t.STR_NULLPAD)
        string.set_cset(h5t.CSET_UTF8)
        layout = self._layout.copy()
        layout.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        space = h5s.create_simple((1,))
        place: int = h5d.create(self._file.id, INDEX.encode(), string, space, layout).get_offset()
        return place


def _access() -> Any:
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    # Before 1.8 HDF5 kept all names of a group in one piece, and from about two million on read
    # and wrote that piece for each dataset.
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)
    access.set_sieve_buf_size(0)  # small arrays are written when they come
    cache = access.get_mdc_config()
    cache.set_initial_size = True
    cache.initial_size = cache.max_size = METADATA_BYTES_KEPT
    cache.incr_mode = cache.flash_incr_mode = cache.decr_mode = 0  # it keeps this size
    access.set_mdc_config(cache)
    return access
