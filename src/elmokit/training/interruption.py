"""Ctrl-C and SIGTERM as a wish that the loop reads between two steps."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Wish:
    """Whether someone asked the run to stop."""

    def __init__(self) -> None:
        self.stop = False


@contextmanager
def stop_wish() -> Iterator[Wish]:
    """Turn the first signal into a wish; a second one interrupts at once, as ever."""
    wish = Wish()

    def handle(number: int, frame: FrameType | None) -> None:
        if wish.stop:
            signal.default_int_handler(number, frame)
        wish.stop = True

    try:
        before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # only the main thread may handle signals
        yield wish
        return
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
