import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.serve.batcher import (
    BURST,
    CALM_SECONDS,
    SHARE_OF_BATCH,
    SHARE_OF_QUEUE,
    Batcher,
    Share,
)
from elmokit.serve.problems import RequestError
from elmokit.serve.work import Part, Work


class Nothing:
    """A computation that is only compared."""

    name, device = "nothing", "cpu"

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        raise NotImplementedError


ONE, OTHER = Nothing(), Nothing()


def batcher(*, batch: int = 100, requests: int = 10, queue: int = 1000) -> Batcher:
    made = Batcher(batch_tokens=batch, queue_requests=requests, queue_tokens=queue)
    made.pace.learn_reference(ONE, 100, 1.0)
    made.pace.learn(OTHER, 100, 1.0)
    return made


def work(costs: Sequence[int], computation: Nothing = ONE) -> Work:
    async def made() -> Work:
        return Work(computation, list(range(len(costs))), list(costs))

    return asyncio.run(made())


def taken(batch: list[Share] | None) -> list[tuple[Work, list[int]]]:
    assert batch is not None
    return [(share.work, list(share.part.items)) for share in batch]


def test_requests_share_a_batch_in_the_order_they_came() -> None:
    queue = batcher()
    first, second = work([10, 10]), work([10])
    queue.submit(first)
    queue.submit(second)
    assert (queue.waiting_requests, queue.waiting_tokens) == (2, 30)
    assert taken(queue.take()) == [(first, [0, 1]), (second, [0])]
    assert (queue.waiting_requests, queue.waiting_tokens) == (0, 0)


def test_a_batch_stays_within_its_budget_and_the_rest_comes_next() -> None:
    queue = batcher(batch=100)
    first, second = work([60]), work([50])
    queue.submit(first)
    queue.submit(second)
    assert taken(queue.take()) == [(first, [0])]
    assert taken(queue.take()) == [(second, [0])]


def test_a_long_request_gives_way_after_each_share() -> None:
    queue = batcher(batch=160, queue=100_000)
    turn = 160 // SHARE_OF_BATCH
    long, short = work([turn] * 40), work([turn])
    queue.submit(long)
    queue.submit(short)
    found = dict(taken(queue.take()))
    assert found[short] == [0]
    assert found[long] == list(range(SHARE_OF_BATCH - 1))


def test_an_item_larger_than_a_batch_has_one_for_itself() -> None:
    queue = batcher(batch=100, queue=100_000)
    small, large = work([10]), work([500])
    queue.submit(small)
    queue.submit(large)
    assert taken(queue.take()) == [(small, [0])]
    assert taken(queue.take()) == [(large, [0])]


def test_a_batch_is_of_one_computation_and_others_keep_their_place() -> None:
    queue = batcher()
    first, other, third = work([10]), work([10], OTHER), work([10])
    for one in (first, other, third):
        queue.submit(one)
    assert taken(queue.take()) == [(first, [0]), (third, [0])]
    assert taken(queue.take()) == [(other, [0])]


def test_more_requests_than_may_wait_are_refused() -> None:
    queue = batcher(requests=2)
    queue.submit(work([1]))
    queue.submit(work([1]))
    with pytest.raises(RequestError) as raised:
        queue.submit(work([1]))
    assert raised.value.status == 429
    assert int(raised.value.headers["Retry-After"]) >= 1


def test_more_tokens_than_may_wait_are_refused_until_some_are_taken() -> None:
    queue = batcher(queue=20 * SHARE_OF_QUEUE, requests=100)
    for _ in range(SHARE_OF_QUEUE):
        queue.submit(work([20]))
    with pytest.raises(RequestError, match="try again"):
        queue.submit(work([20]))
    queue.take()
    queue.submit(work([20]))


def test_retry_after_is_the_time_that_the_line_takes() -> None:
    queue = batcher(queue=1000)
    queue.pace.learn_reference(ONE, 1, 0.02)  # seconds a token
    for _ in range(10):
        queue.submit(work([100]))
    with pytest.raises(RequestError) as raised:
        queue.submit(work([100]))
    assert raised.value.headers["Retry-After"] == "20"
    queue.take()  # 100 tokens
    gone = work([300])
    queue.submit(gone)
    assert queue.no_room() is not None
    assert queue.cancel(gone)
    queue.submit(work([1]))
    problem = queue.no_room()
    assert problem is not None
    assert problem.headers["Retry-After"] == "19"  # 901 tokens


def test_a_long_request_is_always_taken_where_nothing_waits() -> None:
    queue = batcher(queue=100, requests=100)
    queue.submit(work([50] * 100))
    # It counts for a part of the line only, so that others have room.
    for _ in range(SHARE_OF_QUEUE - 1):
        queue.submit(work([25]))
    with pytest.raises(RequestError):
        queue.submit(work([25]))


def test_costly_tokens_count_for_more_in_line_and_in_batches() -> None:
    queue = Batcher(batch_tokens=60, queue_requests=100, queue_tokens=20 * SHARE_OF_QUEUE)
    queue.pace.learn_reference(ONE, 100, 1.0)
    queue.pace.learn(OTHER, 100, 5.0)
    for _ in range(SHARE_OF_QUEUE):
        queue.submit(work([4], OTHER))
    with pytest.raises(RequestError):
        queue.submit(work([1], OTHER))
    assert [len(queue.take() or ()) for _ in range(2)] == [3, 3]


def test_the_line_follows_the_batches_and_forgets_nothing_of_what_waits() -> None:
    """Costs are 2 a step and 1 a token, while the start said 20 a step."""
    queue = Batcher(batch_tokens=400, queue_requests=100)
    assert queue.queue_tokens == 400
    queue.learn_reference(ONE, [(26, 26, 546.0), (26, 260, 780.0)])
    assert queue.queue_tokens == 800
    waiting = [work([20] * 20) for _ in range(SHARE_OF_QUEUE)]
    for one in waiting:
        queue.submit(one)  # each counts for its share of the line, and no more
    for size in (1, 2, 5, 10, 1, 20, 3, 8, 1) * 10:
        share = Share(work([26] * size), 0, size)
        queue.learn([share], 52.0 + 26.0 * size)
    assert queue.queue_tokens == pytest.approx(260, rel=0.05)
    queue.learn([Share(work([26] * 9, OTHER), 0, 9)], 1.0)  # which is not what the line counts in
    assert queue.queue_tokens == pytest.approx(260, rel=0.05)
    for one in waiting:
        assert queue.cancel(one)
    assert queue._counted == 0
    with pytest.raises(RequestError):
        for _ in range(40):
            queue.submit(work([13]))
    most = 260 * (1 + BURST) / 13
    assert queue.waiting_requests == pytest.approx(most, rel=0.06)


def test_a_burst_finds_more_room_unless_somebody_was_just_refused() -> None:
    now = 100.0
    queue = Batcher(batch_tokens=400, queue_requests=1000, clock=lambda: now)
    queue.pace.learn_reference(ONE, 100, 1.0)

    def accepted() -> int:
        before = queue.waiting_requests
        with pytest.raises(RequestError):
            for _ in range(1000):
                queue.submit(work([4]))
        return queue.waiting_requests - before

    assert accepted() == 100 * (1 + BURST)
    for _ in range(2):
        queue.take()
    assert queue.waiting_requests == 0
    assert accepted() == 100  # while too many go on coming
    now += CALM_SECONDS / 2
    assert queue.no_room() is None
    assert accepted() == 100 * BURST / 2
    now += CALM_SECONDS
    assert accepted() == 100 * BURST / 2
    now += 100 * CALM_SECONDS
    assert queue.no_room() is not None  # it never grows beyond that


def test_what_nobody_waits_for_is_never_taken() -> None:
    queue = batcher(queue=100)
    gone, stays = work([50]), work([50])
    queue.submit(gone)
    queue.submit(stays)
    assert queue.cancel(gone)
    assert queue.waiting_tokens == 50
    queue.submit(work([50]))  # there is room again
    assert next(share.work for share in queue.take() or ()) is stays
    assert not queue.cancel(stays), "it was taken already"


def test_the_rest_of_a_request_is_forgotten_in_the_middle() -> None:
    queue = batcher(batch=100, queue=100_000)
    long = work([50] * 10)
    queue.submit(long)
    queue.take()
    assert queue.cancel(long)
    assert queue.take(wait=False) == []


def test_a_closed_line_gives_what_it_has_and_takes_no_more() -> None:
    queue = batcher()
    last = work([10])
    queue.submit(last)
    queue.close()
    with pytest.raises(RequestError, match="shutting down") as raised:
        queue.submit(work([10]))
    assert raised.value.status == 503
    assert taken(queue.take()) == [(last, [0])]
    assert queue.take() is None


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 120), min_size=1, max_size=12), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    st.integers(16, 100),
)
def test_every_item_is_computed_once_in_order_within_the_budget(
    requests: list[tuple[list[int], bool]], budget: int
) -> None:
    queue = batcher(batch=budget, requests=100, queue=10**6)
    works = [work(costs, ONE if first else OTHER) for costs, first in requests]
    for one in works:
        queue.submit(one)
        one.weight = 1.0
    found: dict[Work, list[int]] = {one: [] for one in works}
    while batch := queue.take(wait=False):
        assert len({share.work.computation for share in batch}) == 1
        tokens = sum(share.tokens for share in batch)
        items = sum(share.end - share.first for share in batch)
        assert tokens <= budget or items == 1
        for share in batch:
            found[share.work] += share.part.items
    assert all(items == list(one.items) for one, items in found.items())
    assert (queue.waiting_requests, queue.waiting_tokens) == (0, 0)


def test_a_line_with_hardly_any_room_says_so_before_a_request_is_read() -> None:
    queue = batcher(queue=320, requests=100)
    for _ in range(22):
        queue.submit(work([14]))
    assert queue.no_room() is None
    queue.submit(work([3]))
    problem = queue.no_room()
    assert problem is not None
    assert problem.status == 429
    queue.take()
    assert queue.no_room() is None
    few = batcher(requests=1)
    few.submit(work([1]))
    assert few.no_room() is not None
