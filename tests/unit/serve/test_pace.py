from collections.abc import Callable, Sequence
from typing import Any

import pytest

from elmokit.serve.pace import FIRST_GUESS, MOST, Pace
from elmokit.serve.work import Part


class Nothing:
    name, device = "nothing", "cpu"

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        raise NotImplementedError


EMBED, SCORE = Nothing(), Nothing()


@pytest.fixture
def pace() -> Pace:
    pace = Pace(batch_tokens=800)
    pace.learn_reference(EMBED, 100, 2.0)
    return pace


def test_the_reference_costs_one(pace: Pace) -> None:
    assert pace.weight(EMBED) == 1
    assert pace.seconds(50) == pytest.approx(1.0)


def test_an_unknown_computation_is_guessed(pace: Pace) -> None:
    assert pace.weight(SCORE) == FIRST_GUESS


def test_a_computation_costs_what_it_took(pace: Pace) -> None:
    pace.learn(SCORE, 10, 1.0)
    assert pace.weight(SCORE) == pytest.approx(5)


def test_the_latest_batches_count_most(pace: Pace) -> None:
    for seconds in (1.0, *[4.0] * 40):
        pace.learn(SCORE, 100, seconds)
    assert pace.weight(SCORE) == pytest.approx(2, rel=1e-3)


def test_small_batches_say_nothing_about_the_reference(pace: Pace) -> None:
    pace.learn(EMBED, 5, 100.0)
    assert pace.seconds(1) == pytest.approx(0.02)
    for _ in range(40):
        pace.learn(EMBED, 400, 4.0)
    assert pace.seconds(1) == pytest.approx(0.01, rel=1e-2)


def test_weights_stay_within_bounds(pace: Pace) -> None:
    pace.learn(SCORE, 1, 1e9)
    assert pace.weight(SCORE) == MOST
