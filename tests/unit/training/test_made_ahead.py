"""Batches made in another thread, each once, in whatever order steps are asked for."""

from elmokit.training.made_ahead import BATCHES_AHEAD, MadeAhead
from elmokit.training.seeds import mixed_seed


def test_the_next_ones_are_made_while_one_is_used() -> None:
    made: list[int] = []

    def make(step: int) -> str:
        made.append(step)
        return f"batch {step}"

    batches = MadeAhead(make)
    assert [batches(step) for step in range(5)] == [f"batch {step}" for step in range(5)]
    assert batches(20) == "batch 20"  # after a resume
    assert batches(21) == "batch 21"
    assert len(made) == len(set(made))
    assert max(made) < 21 + BATCHES_AHEAD


def test_seeds_depend_on_each_number_and_on_their_order() -> None:
    seeds = {mixed_seed(1, 2), mixed_seed(2, 1), mixed_seed(1, 3), mixed_seed(1)}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert mixed_seed(1, 2) == mixed_seed(1, 2)
