"""A JSON object from sentences to keys that may grow larger than memory."""

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from elmokit.errors import InputError

BYTES_KEPT = 32 * 2**20
BYTES_PER_ENTRY = 150  # beside the sentence
# The longest string that numpy can read back.
MOST_BYTES = 2**31 - 1


class SentenceIndex:
    """Collects sentences; where they are many they go to a temporary file in ``folder``.

    A sentence that comes twice has its later key. On disk both may be found, the later one last,
    which readers of JSON take as the same.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: dict[str, str] = {}
        self._kept = 0
        self._file: IO[bytes] | None = None

    def add(self, sentence: str, key: str) -> None:
        """Append a sentence."""
        self._keys[sentence] = key
        self._kept += len(sentence) + BYTES_PER_ENTRY
        if self._kept > BYTES_KEPT:
            self._write_out()

    @property
    def is_on_disk(self) -> bool:
        """Whether there is too much for memory."""
        return self._file is not None

    def text(self) -> str:
        """Give the object, if it is in memory."""
        assert self._file is None
        return json.dumps(self._keys)

    def stream(self) -> IO[bytes]:
        """Give a file with the object in UTF-8, from its beginning, if it is on disk."""
        assert self._file is not None
        if self._keys:
            self._write_out()
        self._file.write(b"}")
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    def _write_out(self) -> None:
        if self._file is None:
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by `close`
        opening = ", " if self._file.tell() else "{"
        entries = json.dumps(self._keys, ensure_ascii=False)[1:-1]
        # Half a surrogate pair is no UTF-8, but can be escaped in JSON as Python does it.
        self._file.write((opening + entries).encode("utf-8", "backslashreplace"))
        if self._file.tell() >= MOST_BYTES:
            raise InputError(
                f"output: an HDF5 file holds the index of at most {MOST_BYTES / 1e6:,.0f} MB of "
                "sentences; write a .parquet file, or several from parts of the text"
            )
        self._keys.clear()
        self._kept = 0
