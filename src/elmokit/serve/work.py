"""A request as the model's thread sees it: items to compute, and who waits for them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class Part(NamedTuple):
    """Items of one request that are computed together."""

    wants: Any
    """What the request wants of each, in the words of its computation."""
    items: Sequence[Any]


class Computation(Protocol):
    """Something that the model's thread can do for several requests at once.

    Requests with the same object share batches.
    """

    name: str
    """How it is called in the metrics."""
    device: str
    """Where it computes."""

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """Begin to compute; the function that comes back gives a result for each part."""
        ...


class Work:
    """What one request asks for. The event loop makes it; the batcher and the thread change it."""

    __slots__ = (
        "computation",
        "costs",
        "counted",
        "future",
        "gone",
        "items",
        "loop",
        "results",
        "taken",
        "unanswered",
        "waiting_tokens",
        "wants",
        "weight",
    )

    def __init__(
        self,
        computation: Computation,
        items: Sequence[Any],
        costs: Sequence[int],
        wants: Any = None,
    ) -> None:
        """``costs`` are the tokens of each item, as many as are computed for it."""
        assert len(items) == len(costs) > 0, "a request asks for something"
        self.computation = computation
        self.items = items
        self.costs = costs
        self.wants = wants
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[Any]] = self.loop.create_future()
        """The results of its parts, in order."""
        self.results: list[Any] = []
        self.taken = 0
        """Items that went into batches."""
        self.unanswered = len(items)
        self.waiting_tokens = sum(costs)
        """Tokens of the items that are not taken yet."""
        self.weight = 1.0
        """What a token costs, in tokens that are embedded."""
        self.counted = 0.0
        """What it counts for in line."""
        self.gone = False
        """Whether nobody waits for it any more."""
