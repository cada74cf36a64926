"""Starting processes that leave Ctrl-C, which reaches all of a terminal, to their parent."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deaf_to_interruption() -> Iterator[None]:
    """Start processes that Ctrl-C does not end, from their first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
