"""How long a line may be: on devices whose costs are known, on clocks that are ours."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from elmokit.serve.batcher import Batcher
from elmokit.serve.lane import Lane
from elmokit.serve.limits import Limits
from elmokit.serve.line_length import LONGEST, SHORTEST, STEPS, TIMES_STEPS, LineLength
from elmokit.serve.metrics import Metrics
from elmokit.serve.work import Part

BATCH = 4096
PER_STEP, PER_TOKEN = 2e-3, 1e-4
RIGHT = TIMES_STEPS * STEPS * PER_STEP / PER_TOKEN


def seconds(steps: int, tokens: int) -> float:
    return steps * PER_STEP + tokens * PER_TOKEN


def real_batches(count: int, seed: int = 0) -> list[tuple[int, int]]:
    """Steps and tokens of batches as a moderate load makes them."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        lengths = [chance.randint(4, 45) for _ in range(chance.randint(1, 30))]
        found.append((max(lengths), sum(lengths)))
    return found


def started(*, lone: float = 1.0, many: float = 1.0) -> LineLength:
    """Measure at the start, each size so many times slower than the device is."""
    line = LineLength(batch_tokens=BATCH)
    for rows, slower in ((1, lone), (19, many)):
        line.learn(steps=STEPS, tokens=STEPS * rows, seconds=slower * seconds(STEPS, STEPS * rows))
    return line


def test_two_batches_that_are_measured_well_suffice() -> None:
    assert started().tokens == pytest.approx(RIGHT, rel=1e-3)


def test_a_machine_that_is_slower_for_all_has_the_same_line() -> None:
    assert started(lone=3, many=3).tokens == pytest.approx(RIGHT, rel=1e-3)


@pytest.mark.parametrize(("lone", "many"), [(3, 1), (1.5, 1), (1, 2), (1, 6)])
def test_a_start_on_a_busy_machine_is_corrected_by_real_batches(lone: float, many: float) -> None:
    line = started(lone=lone, many=many)
    assert not RIGHT / 1.3 < line.tokens < RIGHT * 1.3
    for steps, tokens in real_batches(60):
        line.learn(steps=steps, tokens=tokens, seconds=seconds(steps, tokens))
    assert line.tokens == pytest.approx(RIGHT, rel=0.1)


def test_batches_that_were_held_up_count_for_little() -> None:
    line, chance = started(), random.Random(1)
    lengths = []
    for steps, tokens in real_batches(300):
        slower = 10.0 if chance.random() < 0.1 else chance.uniform(1.0, 1.1)
        line.learn(steps=steps, tokens=tokens, seconds=slower * seconds(steps, tokens))
        lengths.append(line.tokens)
    assert min(lengths) > RIGHT / 2
    assert max(lengths) < RIGHT * 2


def test_batches_that_are_all_alike_change_nothing() -> None:
    """As under overload: they do not tell steps from tokens."""
    line, chance = started(), random.Random(2)
    for _ in range(500):
        steps, tokens = chance.randint(40, 45), chance.randint(2500, 2600)
        slower = chance.uniform(0.9, 1.1)
        line.learn(steps=steps, tokens=tokens, seconds=slower * seconds(steps, tokens))
    assert line.tokens == pytest.approx(RIGHT, rel=0.3)


def test_it_is_never_too_short_nor_too_long() -> None:
    few, many = LineLength(batch_tokens=BATCH), LineLength(batch_tokens=BATCH)
    for rows in (1, 19):
        few.learn(steps=STEPS, tokens=STEPS * rows, seconds=1e-3 * rows)  # tokens alone cost
        many.learn(steps=STEPS, tokens=STEPS * rows, seconds=1.0)  # steps alone cost
    assert (few.tokens, many.tokens) == (SHORTEST * BATCH, LONGEST * BATCH)
    many.learn(steps=STEPS, tokens=STEPS * 20, seconds=0.5)  # more, and faster
    many.learn(steps=STEPS, tokens=STEPS, seconds=0.0)
    assert many.tokens == LONGEST * BATCH


class FakeEngine:
    """Embeds nothing, and moves the clock; others use the machine now and then."""

    name, device = "embed", "cpu"

    def __init__(self, *, busy: Sequence[float]) -> None:
        self.now = 0.0
        self._busy = list(busy)

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        tokens = sum(len(items) + 2 for part in parts for items in part.items)
        slower = self._busy.pop(0) if self._busy else 1.0
        self.now += slower * seconds(STEPS, tokens)
        return lambda: [None for _ in parts]


@pytest.mark.parametrize(
    "busy", [(), (5, 1, 1, 1, 1, 1), (1, 7, 2, 1, 3, 3), (3, 3, 3, 3, 1, 1), (1, 1, 9, 9, 9, 9)]
)
def test_a_busy_moment_at_the_start_does_no_harm(
    busy: Sequence[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One size is measured after the other, several times, and the best of each counts."""
    engine: Any = FakeEngine(busy=busy)
    monkeypatch.setattr("elmokit.serve.lane.time.perf_counter", lambda: engine.now)
    made = Lane("cpu", limits=Limits(), metrics=Metrics())
    made.measure(engine, None)  # type: ignore[arg-type]
    assert made.batcher.queue_tokens == pytest.approx(RIGHT, rel=1e-3)
    assert made.batcher.pace.seconds(1) > PER_TOKEN


def test_a_line_that_people_choose_stays() -> None:
    queue = Batcher(batch_tokens=BATCH, queue_requests=10, queue_tokens=777)
    engine: Any = FakeEngine(busy=())
    queue.learn_reference(engine, [(26, 26, 0.1), (26, 260, 0.2)])
    assert queue.queue_tokens == 777
