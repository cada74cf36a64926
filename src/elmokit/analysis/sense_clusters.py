"""Clusters of vectors of length 1, and a plane to draw them on.

N vectors, D their size, C clusters
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import MissingExtraError

MOST_CLUSTERS = 8
# Clusters that are hardly apart are one: below this, a text of one sense gets cut too.
LEAST_SILHOUETTE = 0.05

Array = npt.NDArray[np.float32]
Groups = npt.NDArray[np.int64]


class Clusters(NamedTuple):
    """Which vector belongs where."""

    groups: Groups
    """(N,) numbers of clusters, counted from 0, the largest first."""
    silhouette: float | None
    """How well they are apart; None for one cluster."""


def cluster(vectors: Array, count: int | None) -> Clusters:
    """Cut vectors (N, D) into ``count`` clusters, or as many as have the best silhouette."""
    tries = [count] if count else range(1, min(MOST_CLUSTERS, len(vectors) - 1) + 1)
    best = Clusters(np.zeros(len(vectors), np.int64), None)
    for clusters in tries:
        if clusters == 1:
            continue
        groups = _ordered(_k_means(vectors, clusters))
        found = Clusters(groups, _silhouette(vectors, groups))
        bar = LEAST_SILHOUETTE if best.silhouette is None else best.silhouette
        if count or (found.silhouette or 0.0) > bar:
            best = found
    return best


def centres_of(vectors: Array, groups: Groups) -> Array:
    """Give the directions (C, D) of the clusters' means."""
    means = np.stack([vectors[groups == number].mean(axis=0) for number in range(max(groups) + 1)])
    centres: Array = means / np.linalg.norm(means, axis=1, keepdims=True).clip(min=1e-30)
    return centres


def plane(vectors: Array) -> npt.NDArray[np.float64]:
    """Give the places (N, 2) of vectors on their two main axes.

    The sign of an axis is chosen so that the same vectors always give the same picture.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    points: npt.NDArray[np.float64] = centred @ axes.T
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _k_means(vectors: Array, count: int) -> Groups:
    cluster_package = _sklearn("cluster")
    model = cluster_package.KMeans(count, n_init=10, random_state=0)
    groups: Groups = model.fit_predict(vectors).astype(np.int64)
    return groups


def _silhouette(vectors: Array, groups: Groups) -> float | None:
    if not 1 < len(np.unique(groups)) < len(vectors):
        return None
    return float(_sklearn("metrics").silhouette_score(vectors, groups, metric="cosine"))


def _sklearn(part: str) -> Any:
    try:
        from sklearn import cluster, metrics
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "analysis", "clustering") from error
    return {"cluster": cluster, "metrics": metrics}[part]


def _ordered(groups: Groups) -> Groups:
    """Number clusters by size, the largest first; of equals the one that comes first."""
    names, firsts, sizes = np.unique(groups, return_index=True, return_counts=True)
    order = np.lexsort((firsts, -sizes))
    numbers = np.empty(int(names.max()) + 1, np.int64)
    numbers[names[order]] = np.arange(len(names))
    return numbers[groups]
