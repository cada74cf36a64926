"""Ctrl-C and SIGTERM as a wish that the loop reads between two steps."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Signals so close to the first are the same wish: torchrun passes on a Ctrl-C that the terminal
# has sent to its processes already.
ONE_WISH_SECONDS = 1.0


class Wish:
    """Whether someone asked the run to stop."""

    def __init__(self) -> None:
        self.stop = False
        self._since = 0.0

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal: the first is a wish, a later one interrupts at once, as ever."""
        now = time.monotonic()
        if not self.stop:
            self.stop, self._since = True, now
        elif now - self._since > ONE_WISH_SECONDS:
            signal.default_int_handler(number, frame)


@contextmanager
def stop_wish() -> Iterator[Wish]:
    """Turn signals into a wish."""
    wish = Wish()
    try:
        before = {s: signal.signal(s, wish.handle) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # only the main thread may handle signals
        before = {}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
