"""How fast an index of words in context is built, opened and asked.

    python benchmarks/context_index.py --index INDEX             # what elmo index wrote
    python benchmarks/context_index.py --count 1000000 --like VECTORS.npy
    python benchmarks/context_index.py --count 1000000           # the worst case

With `--count` vectors are made: mixes of two of the real ones (n, D) that `--like` names, or
without it, of random directions, of which no number says more than another.

Queries are occurrences of the index with a little noise, after some to warm up; each is also
answered by looking at every vector, and the two answers are compared. The build's rate is that of
`elmo index ... --json`, which prints its seconds.

N occurrences, D size of a vector
"""

import argparse
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.context_index_bounds import Bounds, write_bounds
from elmokit.analysis.context_index_search import nearest
from elmokit.corpus.arrays import ArrayWriter
from elmokit.engine.cpu.tiles import avoid_broken_tiles
from elmokit.version import __version__

SIZE = 704
K = 10
WARM_UP = 3
NOISE = 0.01
BLOCK = 10_000
MIXED = 0.5


def main() -> None:
    arguments = parsed()
    avoid_broken_tiles()
    torch.set_num_threads(arguments.threads)
    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    print(
        f"elmokit {__version__}, torch {torch.__version__}, {platform.platform()}, "
        f"{arguments.threads} threads; load of the machine before: {load}"
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.index is not None:
            began = time.perf_counter()
            index = ContextIndex.open(arguments.index)
            print(f"{index}\nopened in {1000 * (time.perf_counter() - began):.1f} ms")
            vectors, bounds = torch.from_numpy(index.vectors), index._bounds
        else:
            vectors, bounds = made_index(Path(folder), arguments.count, arguments.like)
        ask(vectors, bounds, arguments.queries)


def ask(vectors: torch.Tensor, bounds: Bounds | None, queries: int) -> None:
    generator = np.random.default_rng(0)
    bounded, busy, scanned, differences = [], [], [], 0
    for number, row in enumerate(generator.integers(len(vectors), size=queries + WARM_UP)):
        noise = generator.normal(size=vectors.shape[1]) * NOISE
        query = torch.from_numpy(vectors[int(row)].float().numpy() + noise.astype(np.float32))
        query = query / query.norm()
        began, cpu = time.perf_counter(), time.process_time()
        found = nearest(vectors, query, K, bounds)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        if number < WARM_UP:
            continue
        bounded.append(1000 * seconds)
        busy.append(1000 * cpu)
        if number % 10 == 0:  # looking at all takes long
            began = time.perf_counter()
            expected = nearest(vectors, query, K, None)
            scanned.append(1000 * (time.perf_counter() - began))
            differences += found.rows.tolist() != expected.rows.tolist()
    print(f"{len(vectors):,} vectors of {vectors.shape[1]}, {K} nearest, {queries} queries")
    print(f"exact search: {summary(bounded)}")
    print(f"its CPU time, all threads: {summary(busy)}")
    print(f"every vector looked at: {summary(scanned)}; answers that differ: {differences}")


def summary(milliseconds: list[float]) -> str:
    return (
        f"median {statistics.median(milliseconds):.1f} ms, 90% below "
        f"{np.percentile(milliseconds, 90):.1f} ms, slowest {max(milliseconds):.1f} ms"
    )


def made_index(folder: Path, count: int, like: Path | None) -> tuple[torch.Tensor, Bounds]:
    """Make vectors, a block at a time, and their bounds."""
    generator = np.random.default_rng(0)
    real = None if like is None else np.load(like, mmap_mode="r")
    writer = ArrayWriter(folder / "vectors.npy", np.float16, row=SIZE)
    for start in range(0, count, BLOCK):
        rows = min(BLOCK, count - start)
        if real is None:
            made = generator.standard_normal((rows, SIZE), dtype=np.float32)
        else:
            first, second = generator.integers(len(real), size=(2, rows))
            made = real[first].astype(np.float32) + MIXED * real[second].astype(np.float32)
        writer.append(made / np.linalg.norm(made, axis=1, keepdims=True))
    writer.close()
    vectors = np.load(folder / "vectors.npy", mmap_mode="c")
    write_bounds(folder, vectors)
    parts = [mapped(folder / f"{name}.npy") for name in ("head", "slack", "rotation", "scales")]
    return torch.from_numpy(vectors), Bounds(*parts)


def mapped(file: Path) -> torch.Tensor:
    array: npt.NDArray[np.float32] = np.load(file, mmap_mode="c")
    return torch.from_numpy(array)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--index", type=Path)
    what.add_argument("--count", type=int)
    parser.add_argument("--like", type=Path, default=None)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None, help="for temporary files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
