"""Does a word mean the same in two sentences? The cosine of its two vectors against a threshold.

The task is Words in Context (Pilehvar and Camacho-Collados, 2019).

K layers, P pairs, D size of a vector
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.analysis.probes.vector_source import VectorSource
from elmokit.analysis.probes.word_pairs import WordPair

BASELINE = "most frequent answer"

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class PairScore:
    """How well one representation of words does."""

    name: str
    layer: int | None = None
    """A layer's number, or None for what has no layers."""
    accuracy: float
    """Percent of the pairs that are tested."""
    train_accuracy: float
    threshold: float | None = None
    """The cosine from which on two uses are taken for the same."""


@dataclass(frozen=True, kw_only=True)
class PairReport:
    """What the probe found."""

    train_pairs: int
    pairs: int
    scores: tuple[PairScore, ...]

    def facts(self) -> dict[str, Any]:
        """Give what JSON has: ``layers`` and ``baselines`` apart."""
        return {
            "train_pairs": self.train_pairs,
            "pairs": self.pairs,
            "layers": [asdict(score) for score in self.scores if score.layer is not None],
            "baselines": [asdict(score) for score in self.scores if score.layer is None],
        }


def probe_wic(
    sources: Sequence[VectorSource], *, train: Sequence[WordPair], dev: Sequence[WordPair]
) -> PairReport:
    """Choose a threshold for each layer on ``train`` and count right answers on ``dev``."""
    truth, tested = _answers(train), _answers(dev)
    usual = bool(truth.mean() >= 0.5)
    scores = [
        PairScore(
            name=BASELINE,
            accuracy=100 * float((tested == usual).mean()),
            train_accuracy=100 * float((truth == usual).mean()),
        )
    ]
    for source in sources:
        cosines, dev_cosines = pair_cosines(source, train), pair_cosines(source, dev)  # (K, P)
        for row, layer in enumerate(source.layers):
            threshold = best_threshold(cosines[row], truth)
            scores.append(
                PairScore(
                    name=source.name,
                    layer=layer,
                    accuracy=100 * float(((dev_cosines[row] >= threshold) == tested).mean()),
                    train_accuracy=100 * float(((cosines[row] >= threshold) == truth).mean()),
                    threshold=threshold,
                )
            )
    return PairReport(train_pairs=len(train), pairs=len(dev), scores=tuple(scores))


def pair_cosines(source: VectorSource, pairs: Sequence[WordPair]) -> Floats:
    """Give (K, P): how alike both uses of each pair are; a use is the mean of its tokens."""
    uses = [use for pair in pairs for use in pair.uses]
    found = np.empty((len(source.layers), len(uses), source.dim))  # (K, 2P, D)
    for number, (use, vectors) in enumerate(
        zip(uses, source.vectors(use.tokens for use in uses), strict=True)
    ):
        found[:, number] = vectors[:, use.first : use.last + 1].mean(axis=1)
    found /= np.linalg.norm(found, axis=2, keepdims=True).clip(min=1e-30)
    cosines: Floats = (found[:, ::2] * found[:, 1::2]).sum(axis=2)
    return cosines


def best_threshold(cosines: Floats, same: Booleans) -> float:
    """Give the threshold with the most right answers where ``cosines`` (P,) at or above it say so.

    Of equally good ones the lowest; it lies half-way between two cosines that were seen.
    """
    values, places = np.unique(cosines, return_inverse=True)
    # Moving the threshold above a value turns its pairs from "same" to "different".
    gains = np.bincount(places, weights=np.where(same, -1.0, 1.0), minlength=len(values))
    right = np.concatenate([[0.0], np.cumsum(gains)])
    best = int(right.argmax())
    if best == 0:
        return float(values[0] - 1)
    if best == len(values):
        return float(values[-1] + 1)
    return float((values[best - 1] + values[best]) / 2)


def _answers(pairs: Sequence[WordPair]) -> Booleans:
    return np.array([pair.same for pair in pairs], dtype=np.bool_)
