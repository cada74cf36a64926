"""One model serves several threads: each gets the vectors it would get alone."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import elmokit
from elmokit.engine.one_at_a_time import OneAtATime

SENTENCES = [[f"word{number % 7}"] * (1 + number % 5) for number in range(60)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_threads_do_not_disturb_each_other(dtype: str) -> None:
    elmo = elmokit.load("tiny-untrained", dtype=dtype)
    alone = [elmo.embed([sentence], layers="all")[0] for sentence in SENTENCES]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: elmo.embed([one], layers="all")[0], SENTENCES * 3))
    for found, expected in zip(together, alone * 3, strict=True):
        assert np.array_equal(found, expected)


def test_a_copy_has_a_turn_of_its_own() -> None:
    turn = OneAtATime()
    with turn:
        for other in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn))):
            with other:
                pass
