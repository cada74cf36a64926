"""The one thread that owns the models of a device.

torch lets other threads run while it computes, so the event loop reads requests and answers them
meanwhile. On a GPU the next batch is begun before the results of the last one are waited for.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from elmokit.embed.embed_window import is_out_of_memory
from elmokit.errors import InputError
from elmokit.serve.batcher import Batcher, Share
from elmokit.serve.problems import internal_problem, problem_of_input
from elmokit.serve.work import Work

logger = logging.getLogger("elmokit.serve")


class BatchMetrics(Protocol):
    """Whoever counts batches."""

    def computed(self, name: str, *, tokens: int, items: int, seconds: float) -> None:
        """Count a batch."""
        ...


class _Begun(NamedTuple):
    batch: list[Share]
    wait: Callable[[], list[Any]]
    since: float


class DeviceThread(threading.Thread):
    """Computes the batches of a `Batcher` until that is closed and empty."""

    def __init__(self, batcher: Batcher, *, device: str, metrics: BatchMetrics) -> None:
        super().__init__(name=f"elmo {device}", daemon=True)
        self._batcher = batcher
        self._metrics = metrics
        self._ahead = device.startswith("cuda")
        self._free_since = 0.0

    def run(self) -> None:
        """Compute until no more will come."""
        begun: _Begun | None = None
        while True:
            batch = self._batcher.take(wait=begun is None)
            if batch is None and begun is None:
                return
            following = self._begin(batch) if batch else None
            if begun is not None:
                self._finish(begun)
            begun = following
            if begun is not None and not self._ahead:
                self._finish(begun)
                begun = None

    def _begin(self, batch: list[Share]) -> _Begun | None:
        since = time.perf_counter()
        try:
            return _Begun(batch, _computation(batch).begin([one.part for one in batch]), since)
        except Exception as error:
            failure = error
        # Outside of the handler, so that what fails next is not reported together with this.
        self._one_by_one(batch, failure)
        return None

    def _finish(self, begun: _Begun) -> None:
        failure: Exception | None = None
        results: list[Any] = []
        try:
            results = begun.wait()
        except Exception as error:
            failure = error
        if failure is not None:
            self._one_by_one(begun.batch, failure)
            return
        now = time.perf_counter()
        seconds = now - max(begun.since, self._free_since)
        self._free_since = now
        tokens = sum(one.tokens for one in begun.batch)
        computation = _computation(begun.batch)
        self._batcher.learn(begun.batch, seconds)
        self._metrics.computed(
            computation.name,
            tokens=tokens,
            items=sum(one.end - one.first for one in begun.batch),
            seconds=seconds,
        )
        deliver(begun.batch, results)

    def _one_by_one(self, batch: list[Share], error: Exception) -> None:
        """Compute the requests of a failed batch alone, so that one cannot fail the others."""
        if len(batch) > 1:
            for one in batch:
                if (begun := self._begin([one])) is not None:
                    self._finish(begun)
            return
        (share,) = batch
        middle = (share.first + share.end) // 2
        if share.first < middle and is_out_of_memory(error):
            self._one_by_one([share._replace(end=middle), share._replace(first=middle)], error)
            return
        if isinstance(error, InputError):
            problem = problem_of_input(error)
        else:
            logger.error("%s failed", share.work.computation.name, exc_info=error)
            problem = internal_problem()
        self._batcher.cancel(share.work)
        _tell([share.work], _fail, share.work, problem)


def deliver(batch: Sequence[Share], results: Sequence[Any]) -> None:
    """Hand results to those who wait; wakes each event loop once."""
    complete: list[Work] = []
    for share, result in zip(batch, results, strict=True):
        work = share.work
        work.results.append(result)
        work.unanswered -= share.end - share.first
        if work.unanswered == 0 and not work.gone:
            complete.append(work)
    if complete:
        _tell(complete, _resolve, complete)


def _tell(works: Sequence[Work], callback: Callable[..., None], *arguments: Any) -> None:
    """Call back in the event loop; one that was made to end too early has nobody waiting."""
    with contextlib.suppress(RuntimeError):
        works[0].loop.call_soon_threadsafe(callback, *arguments)


def _resolve(complete: list[Work]) -> None:
    for work in complete:
        if not work.future.done():
            work.future.set_result(work.results)


def _fail(work: Work, problem: Exception) -> None:
    if not work.future.done():
        work.future.set_exception(problem)


def _computation(batch: Sequence[Share]) -> Any:
    return batch[0].work.computation
