"""Reading ahead and writing behind in threads of their own, each within bounds.

What is read and written comes in the same order and fails with the same errors as without.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

# On some systems a signal is noticed only when waiting ends.
SECONDS_BETWEEN_LOOKS = 1.0
# A reader that waits for a silent pipe cannot be woken, and must not keep the program from ending.
SECONDS_FOR_THE_READER = 0.2


class Channel(Generic[Item]):
    """Items on their way from one thread to another, up to a weight; either side may end it.

    It waits at queues alone, which an interruption cannot leave locked as it can a Condition.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: SimpleQueue[tuple[Item, int] | None] = SimpleQueue()
        self._taken: SimpleQueue[int] = SimpleQueue()
        # As the side that puts knows them.
        self._waiting = 0
        self._weight = 0
        self._abandoned = False

    def put(self, item: Item, weight: int) -> bool:
        """Append an item once there is room for it; say whether anybody still wants it.

        One that is heavier than all that may wait goes alone.
        """
        while self._waiting and self._weight + weight > self._most and not self._abandoned:
            with suppress(Empty):
                self._weight -= self._taken.get(timeout=SECONDS_BETWEEN_LOOKS)
                self._waiting -= 1
        if self._abandoned:
            return False
        self._waiting += 1
        self._weight += weight
        self._items.put((item, weight))
        return True

    def __iter__(self) -> Iterator[Item]:
        """Give the items as they come, until the end."""
        while True:
            try:
                found = self._items.get(timeout=SECONDS_BETWEEN_LOOKS)
            except Empty:
                continue
            if found is None or self._abandoned:
                return
            item, weight = found
            self._taken.put(weight)
            del found
            yield item

    def end(self) -> None:
        """Say that nothing more comes; what waits is still given."""
        self._items.put(None)

    def abandon(self) -> None:
        """Give nothing more of what waits, and take nothing more."""
        self._abandoned = True
        self._taken.put(0)
        self._items.put(None)


@contextmanager
def reading_ahead(
    items: Generator[Item, None, None], *, weigh: Callable[[Item], int], most: int
) -> Iterator[Iterator[Item]]:
    """Run ``items`` in a thread, up to a weight of ``most`` ahead; there it is closed as well.

    What it raises comes in its place, behind the items before.
    """
    channel: Channel[Item] = Channel(most)
    failures: list[BaseException] = []

    def read() -> None:
        try:
            with closing(items):
                for item in items:
                    if not channel.put(item, weigh(item)):
                        break
        except BaseException as error:
            failures.append(error)
        finally:
            channel.end()

    def arriving() -> Iterator[Item]:
        yield from channel
        if failures:
            raise failures[0]

    thread = Thread(target=read, name="elmokit-reader", daemon=True)
    thread.start()
    try:
        yield arriving()
    finally:
        channel.abandon()
        thread.join(SECONDS_FOR_THE_READER)


@contextmanager
def writing_behind(
    write: Callable[[Item], None], *, weigh: Callable[[Item], int], most: int
) -> Iterator[Callable[[Item], None]]:
    """Give a function that hands items to ``write`` in a thread, up to a weight of ``most`` behind.

    What ``write`` raises comes once: from that function or at the end, where all is written.
    """
    channel: Channel[Item] = Channel(most)
    failures: list[BaseException] = []

    def write_all() -> None:
        try:
            for item in channel:
                write(item)
        except BaseException as error:
            failures.append(error)
        finally:
            channel.abandon()

    def put(item: Item) -> None:
        if not channel.put(item, weigh(item)):
            raise failures[0]

    thread = Thread(target=write_all, name="elmokit-writer", daemon=True)
    thread.start()
    try:
        yield put
        channel.end()
        thread.join()
    finally:
        channel.abandon()
        thread.join()
    if failures:
        raise failures[0]
