"""One model serves several threads: each gets the vectors it would get alone."""

import copy
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import elmokit
from elmokit.engine.cpu import precision
from elmokit.engine.one_at_a_time import OneAtATime

# Every sentence brings words that no other has, so that the cache of words changes all the time.
SENTENCES = [[f"word{number}x{place}" for place in range(1 + number % 5)] for number in range(200)]


@pytest.fixture
def _restless_threads() -> Iterator[None]:
    """Let threads interrupt each other as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_restless_threads")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_threads_do_not_disturb_each_other(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # So small a model would be computed in a wider type than int8.
    monkeypatch.setattr(precision, "LEAST_BESIDE_FLOAT32", 0)
    monkeypatch.setattr(precision, "LEAST_BESIDE_BFLOAT16", 0)
    elmo = elmokit.load("tiny-untrained", dtype=dtype)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: elmo.embed([one], layers="all")[0], SENTENCES))
    another = elmokit.load("tiny-untrained", dtype=dtype)
    for found, sentence in zip(together, SENTENCES, strict=True):
        assert np.array_equal(found, another.embed([sentence], layers="all")[0])


def test_a_copy_has_a_turn_of_its_own() -> None:
    turn = OneAtATime()
    with turn:
        for other in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn))):
            with other:
                pass
