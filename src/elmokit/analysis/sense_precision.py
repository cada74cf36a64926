"""How often the nearest occurrences of a word have its sense: precision at k.

Every occurrence of a lemma asks for the k nearest other occurrences of that lemma and counts those
with the same sense. A static vector is the same wherever a word stands, so that of occurrences of
the same form it can only choose by chance.

N occurrences, D size of a vector
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError

K = 10
# A lemma with fewer occurrences has no k neighbours to choose from.
FEWEST = 2 * K
# A sense that occurs less often has no neighbours to be found.
FEWEST_OF_SENSE = 2
# Rows of similarities at a time.
BLOCK = 512

Array = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Precision:
    """Shares from 0 to 1, means over occurrences."""

    occurrences: int
    """That asked."""
    lemmas: int
    found: float
    """Of the k nearest, those with the same sense."""
    chance: float
    """The same, if the k are drawn at random."""
    most: float
    """The same, if those with the same sense always come first."""


@dataclass(frozen=True)
class Labelled:
    """Occurrences whose senses are known."""

    lemmas: Sequence[Hashable]
    """(N,) what is compared with what."""
    senses: Sequence[frozenset[str]]
    """(N,) the senses of each; two occurrences that share one have the same."""
    groups: Sequence[Hashable]
    """(N,) sentences, or documents: occurrences of the same group are not compared."""


def polysemous(labelled: Labelled) -> dict[Hashable, npt.NDArray[np.int64]]:
    """Give the rows of each lemma that is frequent and has two senses that occur repeatedly."""
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, lemma in enumerate(labelled.lemmas):
        rows[lemma].append(row)
    chosen = {}
    for lemma, found in rows.items():
        counts: dict[str, int] = defaultdict(int)
        for row in found:
            for sense in labelled.senses[row]:
                counts[sense] += 1
        repeated = sum(count >= FEWEST_OF_SENSE for count in counts.values())
        if len(found) >= FEWEST and repeated >= 2:
            chosen[lemma] = np.array(found)
    return chosen


def same_sense_precision(
    vectors: Array,
    labelled: Labelled,
    *,
    k: int = K,
    lemmas: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Precision:
    """Measure vectors (N, D) on polysemous lemmas, or on some of them.

    Equally near occurrences come in random order. An occurrence that has fewer than k others to
    choose from, or none of its sense among them, does not ask.
    """
    rows = polysemous(labelled)
    chosen = list(rows) if lemmas is None else [lemma for lemma in lemmas if lemma in rows]
    generator = np.random.default_rng(seed)
    results: list[tuple[float, float, float]] = []
    asked_lemmas = 0
    for lemma in chosen:
        before = len(results)
        results += _of_lemma(vectors[rows[lemma]], labelled, rows[lemma], k, generator)
        asked_lemmas += len(results) > before
    if not results:
        raise InputError(
            f"lemmas: expected one with {FEWEST} occurrences and two senses that occur "
            f"{FEWEST_OF_SENSE} times, found none among {len(set(labelled.lemmas))}"
        )
    found, chance, most = np.mean(results, axis=0)
    return Precision(len(results), asked_lemmas, float(found), float(chance), float(most))


def _of_lemma(
    vectors: Array,
    labelled: Labelled,
    rows: npt.NDArray[np.int64],
    k: int,
    generator: np.random.Generator,
) -> list[tuple[float, float, float]]:
    """Give what each occurrence finds, what chance finds, and the most there is."""
    units = vectors.astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True).clip(min=1e-30)
    groups = _numbers([labelled.groups[row] for row in rows])
    senses = _sense_table([labelled.senses[row] for row in rows])
    results = []
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        # Equal vectors are equally near, rounding aside.
        cosines = (units[block] @ units.T).round(5)  # (block, N)
        same = senses[block] @ senses.T > 0
        other = groups[block, None] != groups[None]
        for near, matching, allowed in zip(cosines, same, other, strict=True):
            others = np.flatnonzero(allowed)
            matches = int(matching[others].sum())
            if len(others) < k or not matches:
                continue
            order = np.lexsort((generator.random(len(others)), -near[others]))
            found = matching[others[order[:k]]].mean()
            results.append((float(found), matches / len(others), min(matches, k) / k))
    return results


def _numbers(values: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


def _sense_table(senses: Sequence[frozenset[str]]) -> npt.NDArray[np.float32]:
    """Give 1 where an occurrence (row) has a sense (column)."""
    numbers = {sense: number for number, sense in enumerate(sorted(frozenset().union(*senses)))}
    table = np.zeros((len(senses), len(numbers)), np.float32)
    for row, found in enumerate(senses):
        table[row, [numbers[sense] for sense in found]] = 1
    return table
