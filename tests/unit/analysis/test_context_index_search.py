"""Exact search is exact: with bounds and without, against numpy in float64."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from elmokit.analysis import context_index_bounds, context_index_search
from elmokit.analysis.context_index_bounds import Bounds, write_bounds
from elmokit.analysis.context_index_search import nearest

Half = npt.NDArray[np.float16]


def units(rows: npt.NDArray[np.float64]) -> Half:
    half: Half = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return half


def clustered(count: int, size: int, seed: int = 0) -> Half:
    """Vectors as text has them: near to each other in a few directions."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(50, size)) * np.linspace(3, 0.1, size)
    return units(centres[generator.integers(50, size=count)] + generator.normal(size=(count, size)))


def bounds_of(folder: Path, vectors: Half) -> Bounds:
    write_bounds(folder, vectors)
    return Bounds(
        *(
            torch.from_numpy(np.load(folder / f"{name}.npy"))
            for name in ("head", "slack", "rotation", "scales")
        )
    )


def by_numpy(vectors: Half, query: npt.NDArray[np.float32], count: int) -> list[int]:
    products = vectors.astype(np.float64) @ query.astype(np.float64)
    return [int(row) for row in np.lexsort((np.arange(len(products)), -products))[:count]]


def query_near(vectors: Half, row: int, seed: int) -> npt.NDArray[np.float32]:
    noise = np.random.default_rng(seed).normal(size=vectors.shape[1]) * 0.02
    query: npt.NDArray[np.float32] = (vectors[row] + noise).astype(np.float32)
    return query / np.float32(np.linalg.norm(query))


@pytest.mark.parametrize("head", [8, 24, 64])
def test_bounds_are_never_exceeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: int
) -> None:
    monkeypatch.setattr(context_index_bounds, "HEAD_SIZE", head)
    vectors = clustered(3000, 64)
    bounds = bounds_of(tmp_path, vectors)
    assert bounds.head.shape == (3000, head)
    for row in range(0, 3000, 300):
        query = query_near(vectors, row, row)
        products = vectors.astype(np.float64) @ query
        above = bounds.upper(torch.from_numpy(query)).numpy() - products
        assert above.min() >= 0
        if head == 64:  # nothing but 8 bits is missing
            assert above.max() < 0.05


def test_bounds_hold_for_vectors_that_the_sample_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_index_bounds, "HEAD_SIZE", 16)
    monkeypatch.setattr(context_index_bounds, "SAMPLE", 2)  # scales that almost nothing fits
    vectors = clustered(2000, 64)
    vectors[5] = 0
    bounds = bounds_of(tmp_path, vectors)
    query = query_near(vectors, 7, 0)
    above = bounds.upper(torch.from_numpy(query)).numpy() - vectors.astype(np.float64) @ query
    assert above.min() >= 0


@pytest.mark.parametrize("kind", ["clustered", "random"])
@pytest.mark.parametrize("count", [1, 10, 300])
def test_search_gives_what_numpy_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    monkeypatch.setattr(context_index_bounds, "HEAD_SIZE", 24)
    monkeypatch.setattr(context_index_search, "CHUNK", 64)
    vectors = (
        clustered(6000, 64)
        if kind == "clustered"
        else units(np.random.default_rng(1).normal(size=(6000, 64)))
    )
    bounds = bounds_of(tmp_path, vectors)
    tensor = torch.from_numpy(vectors)
    for row in (0, 3111, 5999):
        query = query_near(vectors, row, row)
        expected = by_numpy(vectors, query, count)
        for known in (None, bounds):
            found = nearest(tensor, torch.from_numpy(query), count, known)
            assert found.rows.tolist() == expected
            # Sums of 64 products in float64, rounded to float32.
            exact = vectors[expected].astype(np.float64) @ query
            np.testing.assert_allclose(found.similarities, exact, atol=1e-6)


def test_bounds_leave_few_to_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_index_bounds, "HEAD_SIZE", 32)
    monkeypatch.setattr(context_index_search, "CHUNK", 64)
    monkeypatch.setattr(context_index_search, "_scanned", None)  # would fail if it were called
    vectors = clustered(20_000, 64)
    query = torch.from_numpy(query_near(vectors, 11, 0))
    looked_at = 0

    class Counting:
        def __len__(self) -> int:
            return len(vectors)

        def __getitem__(self, rows: torch.Tensor) -> torch.Tensor:
            nonlocal looked_at
            looked_at += len(rows)
            return torch.from_numpy(vectors)[rows]

    found = nearest(Counting(), query, 5, bounds_of(tmp_path, vectors))  # type: ignore[arg-type]
    assert found.rows.tolist() == by_numpy(vectors, query.numpy(), 5)
    assert looked_at < 2000


def test_equals_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_index_bounds, "HEAD_SIZE", 8)
    vectors = clustered(5000, 32)
    vectors[[17, 4000, 4999]] = vectors[300]
    query = torch.from_numpy(vectors[300].astype(np.float32))
    for bounds in (None, bounds_of(tmp_path, vectors)):
        assert nearest(torch.from_numpy(vectors), query, 4, bounds).rows.tolist() == [
            17,
            300,
            4000,
            4999,
        ]


def test_more_than_there_are() -> None:
    vectors = torch.eye(4, dtype=torch.float16)
    found = nearest(vectors, torch.tensor([0.1, 0.4, 0.3, 0.2]), 10)
    assert found.rows.tolist() == [1, 2, 3, 0]
    assert not len(nearest(vectors[:0], torch.ones(4), 3).rows)
