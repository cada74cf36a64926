"""Learning rates, step by step."""

import math

import pytest

from elmokit.training.schedule import Schedule


def rates(schedule: Schedule) -> list[float]:
    return [schedule.rate(step) for step in range(schedule.steps)]


def test_without_decay_the_rate_stays() -> None:
    assert rates(Schedule(peak=0.2, steps=4)) == [0.2] * 4


def test_warm_up_rises_in_a_straight_line() -> None:
    found = rates(Schedule(peak=1.0, steps=6, warm_up=4))
    assert found == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])


def test_linear_decay() -> None:
    found = rates(Schedule(peak=1.0, steps=5, decay="linear"))
    assert found == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


def test_cosine_decay_after_warm_up() -> None:
    found = rates(Schedule(peak=2.0, steps=6, warm_up=2, decay="cosine"))
    falling = [1 + math.cos(math.pi * part / 4) for part in range(4)]
    assert found == pytest.approx([2 / 3, 4 / 3, *falling])


def test_decay_over_the_last_share_down_to_a_share_of_the_peak() -> None:
    schedule = Schedule(peak=1.0, steps=10, decay="linear", decay_share=0.4, final_share=0.2)
    assert rates(schedule) == pytest.approx([1.0] * 7 + [0.8, 0.6, 0.4])
    assert schedule.rate(10) == pytest.approx(0.2)
    assert schedule.rate(1000) == pytest.approx(0.2)


def test_a_warm_up_longer_than_the_run() -> None:
    found = rates(Schedule(peak=1.0, steps=3, warm_up=10, decay="cosine"))
    assert found == pytest.approx([1 / 11, 2 / 11, 3 / 11])
