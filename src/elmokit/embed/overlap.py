"""Reading ahead and writing behind in threads of their own, each within bounds.

What is read and written comes in the same order and fails with the same errors as without.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from threading import Condition, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

# On some systems a signal is noticed only when waiting ends.
SECONDS_BETWEEN_LOOKS = 1.0
# A reader that waits for a silent pipe cannot be woken, and must not keep the program from ending.
SECONDS_FOR_THE_READER = 0.2


class Channel(Generic[Item]):
    """Items on their way from one thread to another, up to a weight; either side may end it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[tuple[Item, int]] = deque()
        self._weight = 0
        self._ended = False
        self._changed = Condition()

    def put(self, item: Item, weight: int) -> bool:
        """Append an item once there is room for it; say whether anybody still wants it.

        One that is heavier than all that may wait goes alone.
        """
        with self._changed:
            while self._items and self._weight + weight > self._most:
                self._changed.wait(SECONDS_BETWEEN_LOOKS)
            if self._ended:
                return False
            self._items.append((item, weight))
            self._weight += weight
            self._changed.notify_all()
        return True

    def __iter__(self) -> Iterator[Item]:
        """Give the items as they come, until the end."""
        while True:
            with self._changed:
                while not self._items and not self._ended:
                    self._changed.wait(SECONDS_BETWEEN_LOOKS)
                if not self._items:
                    return
                item, weight = self._items.popleft()
                self._weight -= weight
                self._changed.notify_all()
            yield item

    def end(self) -> None:
        """Say that nothing more comes; what waits is still given."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Drop what waits, and take nothing more."""
        with self._changed:
            self._items.clear()
            self._ended = True
            self._changed.notify_all()


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
