"""Batches that are made in a thread of their own while the ones before are used."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Batch = TypeVar("Batch")

# So many are made ahead of their use.
BATCHES_AHEAD = 3


class MadeAhead(Generic[Batch]):
    """Gives what ``make`` makes for a step, and has the next ones made meanwhile."""

    def __init__(self, make: Callable[[int], Batch]) -> None:
        self._make = make
        self._maker = ThreadPoolExecutor(max_workers=1)
        self._ahead: dict[int, Future[Batch]] = {}

    def __call__(self, step: int) -> Batch:
        """Give the batch of a step; steps may be asked for in any order."""
        for ahead in range(step, step + BATCHES_AHEAD):
            if ahead not in self._ahead:
                self._ahead[ahead] = self._maker.submit(self._make, ahead)
        self._ahead = {number: f for number, f in self._ahead.items() if number >= step}
        return self._ahead.pop(step).result()
