"""Precision at k on made senses, with answers that are known."""

import numpy as np
import pytest

from elmokit.analysis.sense_precision import Labelled, polysemous, same_sense_precision
from elmokit.errors import InputError

# Two senses of "bank", 12 and 28 times, and a word with one sense alone.
SENSES = ["river"] * 12 + ["money"] * 28
LABELLED = Labelled(
    lemmas=["bank"] * 40 + ["the"] * 40,
    senses=[frozenset([sense]) for sense in [*SENSES, *["the"] * 40]],
    groups=list(range(80)),
)
APART = np.array([[1.0, 0.0]] * 12 + [[0.0, 1.0]] * 28 + [[1.0, 1.0]] * 40)


def chance() -> float:
    return (12 * 11 / 39 + 28 * 27 / 39) / 40


def test_senses_that_are_apart() -> None:
    found = same_sense_precision(APART, LABELLED, k=10)
    assert (found.occurrences, found.lemmas) == (40, 1)
    assert found.found == found.most == 1
    assert found.chance == pytest.approx(chance())
    assert same_sense_precision(APART, LABELLED, k=20).most == pytest.approx(
        (12 * 11 / 20 + 28) / 40
    )


def test_senses_that_are_mixed_up() -> None:
    """River and money side by side: each finds the other first."""
    angles = np.r_[np.arange(12), np.arange(28) + 0.1, np.zeros(40)] * 0.05
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = same_sense_precision(vectors, LABELLED, k=1)
    # The first 12 of either sense find each other; the other 16 money find money.
    assert found.found == pytest.approx(16 / 40)


def test_equal_vectors_give_chance() -> None:
    same = np.ones((80, 3))
    found = np.mean([same_sense_precision(same, LABELLED, seed=s).found for s in range(200)])
    # 200 draws of 40 times 10: a standard error of about 0.002.
    assert found == pytest.approx(chance(), abs=0.01)


def test_occurrences_of_a_group_are_not_compared() -> None:
    together = Labelled(LABELLED.lemmas, LABELLED.senses, [0] * 6 + [1] * 6 + list(range(2, 70)))
    found = same_sense_precision(APART, together, k=10)
    # A river finds the 6 rivers of the other group, then money.
    assert found.found == pytest.approx((12 * 0.6 + 28) / 40)
    assert found.found == found.most


def test_shared_senses_count() -> None:
    both = [*LABELLED.senses]
    both[0] = frozenset(["river", "money"])
    found = same_sense_precision(APART, Labelled(LABELLED.lemmas, both, LABELLED.groups))
    assert found.found == 1
    assert found.chance > chance()


def test_which_lemmas_ask() -> None:
    assert list(polysemous(LABELLED)) == ["bank"]
    once = [frozenset(["river"]), *[frozenset(["money"])] * 39, *LABELLED.senses[40:]]
    with pytest.raises(InputError, match="two senses that occur 2 times, found none among 2"):
        same_sense_precision(APART, Labelled(LABELLED.lemmas, once, LABELLED.groups))
    with pytest.raises(InputError, match="found none"):
        same_sense_precision(APART, LABELLED, lemmas=["the"])
