"""Processes that would make the same file take turns."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path


@contextmanager
def taking_turns(file: Path) -> Iterator[None]:
    """Wait for other processes that are about to make this file; look for it afterwards.

    The lock is the operating system's and ends with a process, however that dies. Where there is
    none, processes do the same work side by side, which does no harm.
    """
    if find_spec("fcntl") is None:  # Windows has none
        yield
        return
    import fcntl

    lock = file.with_name(f".{file.name}.lock")
    with lock.open("wb") as stream:
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
