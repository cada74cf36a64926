"""Arrays that are written piece by piece."""

from pathlib import Path

import numpy as np

from elmokit.corpus.arrays import ArrayWriter


def test_rows(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "a.npy", np.float16, row=3)
    for start in (0, 2, 4):
        writer.append(np.arange(6.0).reshape(2, 3) + start)
    writer.close()
    found = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert (found.shape, found.dtype) == ((6, 3), np.float16)
    assert found[3].tolist() == [5, 6, 7]


def test_values(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "a.npy", np.int64)
    writer.append(np.array([1, 2]))
    writer.append(np.array([3]))
    writer.close()
    assert np.load(tmp_path / "a.npy").tolist() == [1, 2, 3]
