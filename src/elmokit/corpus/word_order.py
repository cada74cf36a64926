"""From words in the order of their letters to words in the order of their counts."""

import mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.corpus.layout import MARKS
from elmokit.corpus.merge import WordList

_WORDS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 1 << 24


def order_by_count(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give the places of words by falling count; words of one count stay in their order."""
    return np.argsort(-counts, kind="stable")


def final_ids(order: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Give the id of each word of the merged list: its rank after the marks."""
    ids = np.empty(len(order), np.uint32)
    ids[order] = np.arange(len(MARKS), len(MARKS) + len(order), dtype=np.uint32)
    return ids


def write_words(file: Path, words: WordList, order: npt.NDArray[np.int64]) -> None:
    """Write the marks and then the words of the merged list in a new order, one a line."""
    with file.open("wb") as stream:
        stream.writelines(f"{mark}\n".encode() for mark in MARKS)
        if not words.count:
            return
        starts = _line_starts(words)
        with (
            words.file.open("rb") as source,
            mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            for first in range(0, len(order), _WORDS_AT_ONCE):
                places = order[first : first + _WORDS_AT_ONCE]
                spans = zip(starts[places].tolist(), starts[places + 1].tolist(), strict=True)
                stream.write(b"".join([content[start:end] for start, end in spans]))


def _line_starts(words: WordList) -> npt.NDArray[np.int64]:
    starts = np.zeros(words.count + 1, np.int64)
    done, offset = 1, 0
    with words.file.open("rb") as stream:
        while block := stream.read(_BYTES_AT_ONCE):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            starts[done : done + len(ends)] = ends + (offset + 1)
            done += len(ends)
            offset += len(block)
    return starts
