"""A turn for each thread: engines write into buffers and caches of their own."""

import threading
from types import TracebackType


class OneAtATime:
    """A lock that a copy, pickled or not, has anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["OneAtATime"], tuple[()]]:
        return OneAtATime, ()
