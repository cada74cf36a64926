"""Many sorted lists of words to one, with a table from each list to it, in bounded memory."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

PLACE = np.dtype("<u4")

# How many lists are merged at once, and how much of each is in memory.
_LISTS_AT_ONCE = 256
_BYTES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class WordList:
    """Sorted distinct words in a file, one a line."""

    file: Path
    offset: int
    """Where the words begin."""
    size: int
    """Bytes of the words with their line ends."""
    count: int
    """Number of words."""


class PlaceTables:
    """For every list, the places of its words in the merged list; all in one file."""

    def __init__(self, file: Path, lists: Sequence[WordList]) -> None:
        self._file = file
        self._starts = np.cumsum([0, *(words.count for words in lists)], dtype=np.int64)
        with file.open("wb") as stream:
            stream.truncate(int(self._starts[-1]) * PLACE.itemsize)

    def read(self, number: int) -> npt.NDArray[np.uint32]:
        """Read the table of one list."""
        count = int(self._starts[number + 1] - self._starts[number])
        return np.fromfile(self._file, PLACE, count, offset=self._offset(number))

    def write(self, number: int, places: npt.NDArray[np.uint32], start: int = 0) -> None:
        """Write a part of the table of one list."""
        with self._file.open("r+b") as stream:
            stream.seek(self._offset(number) + start * PLACE.itemsize)
            stream.write(places.tobytes())

    def _offset(self, number: int) -> int:
        return int(self._starts[number]) * PLACE.itemsize


def merge(
    lists: Sequence[WordList],
    folder: Path,
    *,
    lists_at_once: int = _LISTS_AT_ONCE,
    bytes_at_once: int = _BYTES_AT_ONCE,
) -> tuple[WordList, PlaceTables]:
    """Merge all lists into one file in ``folder``; where there are many, in several rounds."""
    tables = PlaceTables(folder / "places", lists)
    groups = [
        range(start, min(start + lists_at_once, len(lists)))
        for start in range(0, max(len(lists), 1), lists_at_once)
    ]
    merged = []
    for number, group in enumerate(groups):
        destination = folder / f"merged-{number}"
        members = [lists[member] for member in group]
        merged.append(_merge_some(members, destination, tables, group.start, bytes_at_once))
    if len(merged) == 1:
        return merged[0], tables
    above = folder / "above"
    above.mkdir()
    whole, tables_above = merge(
        merged, above, lists_at_once=lists_at_once, bytes_at_once=bytes_at_once
    )
    for number, group in enumerate(groups):
        table = tables_above.read(number)
        for member in group:
            tables.write(member, table[tables.read(member)])
    return whole, tables


class _Reader:
    """The words of a list that are in memory, and where the others are."""

    def __init__(self, words: WordList, block_bytes: int) -> None:
        self.list = words
        self.block_bytes = block_bytes
        self.read_bytes = 0
        self.taken = 0
        self.words: list[bytes] = []
        self.refill()

    @property
    def has_more(self) -> bool:
        return self.read_bytes < self.list.size

    def refill(self) -> None:
        if self.words or not self.has_more:
            return
        with self.list.file.open("rb") as stream:
            stream.seek(self.list.offset + self.read_bytes)
            block = stream.read(min(self.block_bytes, self.list.size - self.read_bytes))
            if not block.endswith(b"\n"):
                block += stream.readline()
        self.read_bytes += len(block)
        self.words = block.split(b"\n")[:-1]

    def take_up_to(self, last: bytes | None) -> list[bytes]:
        count = len(self.words) if last is None else bisect_right(self.words, last)
        taken, self.words = self.words[:count], self.words[count:]
        self.taken += count
        return taken


def _merge_some(
    lists: Sequence[WordList],
    destination: Path,
    tables: PlaceTables,
    first_table: int,
    bytes_at_once: int,
) -> WordList:
    readers = [_Reader(words, max(bytes_at_once // max(len(lists), 1), 1)) for words in lists]
    size = count = 0
    with destination.open("wb") as stream:
        while any(reader.words for reader in readers):
            # Of what comes up to here, every list has all its words in memory.
            last = min((r.words[-1] for r in readers if r.has_more), default=None)
            starts = [reader.taken for reader in readers]
            taken = [reader.take_up_to(last) for reader in readers]
            distinct = sorted(set().union(*taken))
            places = dict(zip(distinct, range(count, count + len(distinct)), strict=True))
            for number, words in enumerate(taken):
                if words:
                    found = np.array([places[word] for word in words], PLACE)
                    tables.write(first_table + number, found, starts[number])
            block = b"".join(word + b"\n" for word in distinct)
            stream.write(block)
            size += len(block)
            count += len(distinct)
            for reader in readers:
                reader.refill()
    return WordList(destination, 0, size, count)
