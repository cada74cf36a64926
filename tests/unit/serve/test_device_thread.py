import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.serve.batcher import Batcher
from elmokit.serve.device_thread import DeviceThread
from elmokit.serve.metrics import Metrics
from elmokit.serve.problems import RequestError
from elmokit.serve.work import Part, Work

PATIENCE = 30.0


class Doubling:
    """Doubles numbers; strings are wrong input, None is a fault, and three at once are too many."""

    name, device = "double", "cpu"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        items = [item for part in parts for item in part.items]
        self.sizes.append(len(items))
        if "too much" in items and len(items) > 2:
            raise MemoryError("can't allocate memory")
        if any(item == "wrong" for item in items):
            raise InputError("text: expected a number, found 'a secret'")
        if None in items:
            return lambda: [1 // 0]
        return lambda: [[item * 2 for item in part.items] for part in parts]


@pytest.fixture
def batcher() -> Iterator[Batcher]:
    batcher = Batcher(batch_tokens=100, queue_requests=100, queue_tokens=1000)
    thread = DeviceThread(batcher, device="cpu", metrics=Metrics())
    thread.start()
    yield batcher
    batcher.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def run(made: Callable[[], Awaitable[Any]]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await made()

    return asyncio.run(limited())


def test_results_come_back_in_order(batcher: Batcher) -> None:
    async def asked() -> Any:
        works = [Work(doubling, [number, number + 1], [1, 1]) for number in range(20)]
        for work in works:
            batcher.submit(work)
        return [await work.future for work in works]

    doubling = Doubling()
    found = run(asked)
    flat = [[value for part in parts for value in part] for parts in found]
    assert flat == [[2 * number, 2 * number + 2] for number in range(20)]


def test_a_fault_fails_one_request_and_the_thread_lives_on(
    batcher: Batcher, caplog: pytest.LogCaptureFixture
) -> None:
    async def asked() -> Any:
        contents: list[Any] = [1, None, 3, "wrong"]
        works = [Work(doubling, [content], [1]) for content in contents]
        with batcher._changed:  # so that all are in one batch
            for work in works:
                batcher.submit(work)
        return await asyncio.gather(*(work.future for work in works), return_exceptions=True)

    doubling = Doubling()
    with caplog.at_level(logging.ERROR, logger="elmokit.serve"):
        good, fault, better, wrong = run(asked)
    assert doubling.sizes[0] == 4
    assert (good, better) == ([[2]], [[6]])
    assert isinstance(fault, RequestError)
    assert fault.status == 500
    assert "division" not in fault.message
    assert isinstance(wrong, RequestError)
    assert wrong.status == 422
    assert wrong.message == "input: expected a number"
    assert "double failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text

    async def asked_again() -> Any:
        work = Work(doubling, [4], [1])
        batcher.submit(work)
        return await work.future

    assert run(asked_again) == [[8]]


def test_where_memory_runs_out_a_request_is_cut(batcher: Batcher) -> None:
    async def asked() -> Any:
        work = Work(doubling, ["a", "too much", "b", "c", "d"], [1] * 5)
        batcher.submit(work)
        return await work.future

    doubling = Doubling()
    parts = run(asked)
    assert [value for part in parts for value in part] == ["aa", "too much" * 2, "bb", "cc", "dd"]


def test_a_failed_request_is_computed_no_further(batcher: Batcher) -> None:
    async def asked() -> Any:
        work = Work(doubling, [None, *range(50)], [60] * 51)
        batcher.submit(work)
        with pytest.raises(RequestError):
            await work.future
        return work

    doubling = Doubling()
    work = run(asked)
    assert work.taken < 10
    assert batcher.waiting_requests == 0


def test_batches_ahead_are_waited_for_later() -> None:
    """On a GPU the next batch is begun before the last one is done."""
    order: list[str] = []

    class Told:
        name, device = "told", "cuda"

        def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
            (item,) = [item for part in parts for item in part.items]
            order.append(f"begin {item}")

            def wait() -> list[Any]:
                order.append(f"wait {item}")
                return [[item]]

            return wait

    batcher = Batcher(batch_tokens=10, queue_requests=10, queue_tokens=1000)
    thread = DeviceThread(batcher, device="cuda:0", metrics=Metrics())

    async def asked() -> None:
        told = Told()
        works = [Work(told, [number], [10]) for number in range(3)]
        for work in works:
            batcher.submit(work)
        thread.start()
        for work in works:
            await work.future

    run(asked)
    batcher.close()
    thread.join(PATIENCE)
    assert order == ["begin 0", "begin 1", "wait 0", "begin 2", "wait 1", "wait 2"]
