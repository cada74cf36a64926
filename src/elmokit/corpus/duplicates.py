"""Sentences that occurred before, found by their hashes in bounded memory.

Two different sentences are taken for the same with a probability of about n² / 2⁶⁵: one in
30,000 for a corpus of 33 million sentences.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.corpus.spill import Spill

_ENTRY = np.dtype([("hash", "<u8"), ("sentence", "<u8")])
_BUCKET_BYTES = 1 << 26


def mark_duplicates(
    spills: Sequence[Spill], folder: Path, *, bucket_bytes: int = _BUCKET_BYTES
) -> npt.NDArray[np.bool_]:
    """Say of each sentence whether it occurred before; the answer is memory-mapped.

    The hashes are dealt out to files by their value, so that each file fits into memory and
    equal hashes meet in one.
    """
    total = sum(spill.sentences for spill in spills)
    marks = np.memmap(folder / "duplicates", np.bool_, "w+", shape=(max(total, 1),))
    buckets = max(1, -(-total * _ENTRY.itemsize // bucket_bytes))
    files = [folder / f"hashes-{number}" for number in range(buckets)]
    done = 0
    for spill in spills:
        entries = np.empty(spill.sentences, _ENTRY)
        entries["hash"] = spill.read_sentences()["hash"]
        entries["sentence"] = np.arange(done, done + spill.sentences)
        done += spill.sentences
        bucket_of = entries["hash"] % np.uint64(buckets)
        for number in np.unique(bucket_of):
            with files[int(number)].open("ab") as stream:
                stream.write(entries[bucket_of == number].tobytes())
    for file in files:
        if file.exists():
            entries = np.fromfile(file, _ENTRY)
            order = np.argsort(entries["hash"], kind="stable")
            hashes = entries["hash"][order]
            again = order[1:][hashes[1:] == hashes[:-1]]
            marks[entries["sentence"][again]] = True
            file.unlink()
    return marks
