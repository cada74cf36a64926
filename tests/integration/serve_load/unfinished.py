"""Clients that begin a request and never end it: each must be let go, and block nobody."""

import contextlib
import socket
import threading
import time
from dataclasses import dataclass, field

from integration.serve_load.cases.case import CLOSED, MARKER, post
from integration.serve_load.exchange import BrokenAnswerError, Reader

SECONDS_TO_BE_LET_GO = 45.0
"""The server gives a head and a body thirty seconds each; busy machines get more here."""
_GOOD = post(b'{"input": "%s sat"}' % MARKER.encode())
_CHUNKED = _GOOD.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
DRIP = 2.0
"""Seconds between the bytes of those who are slow without end."""

BEGINNINGS: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "an empty line": (b"\r\n", b""),
    "a word": (b"POST", b""),
    "half a head": (_GOOD[:60], b""),
    "a head but its end": (_GOOD.partition(b"\r\n\r\n")[0] + b"\r\n", b""),
    "a head": (_GOOD.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", b""),
    "half a body": (_GOOD[:-5], b""),
    "a body but its end": (_GOOD[:-1], b""),
    "a large length": (_GOOD.replace(b"Content-Length: ", b"Content-Length: 9"), b""),
    "half a chunk": (_CHUNKED + b"10\r\nabc", b""),
    "chunks without the last": (_CHUNKED + b"3\r\nabc\r\n", b""),
    "chunks that are too large": (_CHUNKED + b"100000\r\n%s\r\n" % (b" " * 0x100000) * 5, b""),
    "an expectation": (_GOOD.partition(b"\r\n\r\n")[0] + b"\r\nExpect: 100-continue\r\n\r\n", b""),
    "a head that drips": (_GOOD[:40], b"x"),
    "a body that drips": (_GOOD.replace(b"Content-Length: ", b"Content-Length: 9"), b" "),
    "chunks that drip": (_CHUNKED, b"1\r\n \r\n"),
}
"""What goes out at once, and what goes out again and again after it."""


@dataclass
class UnfinishedClients:
    """Clients of every kind, each with a connection and a thread."""

    port: int
    ends: dict[str, int | str] = field(default_factory=dict)
    """How each was let go: a status, `CLOSED`, or what is wrong."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Begin all requests."""
        for name in BEGINNINGS:
            thread = threading.Thread(target=self._linger, args=(name,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def wait(self) -> dict[str, int | str]:
        """Wait until all have been let go; gives how."""
        for thread in self._threads:
            thread.join(max(0.0, self._since + 2 * SECONDS_TO_BE_LET_GO - time.monotonic()))
        return self.ends

    def _linger(self, name: str) -> None:
        first, drip = BEGINNINGS[name]
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(first)
            stop = threading.Event()
            dripping = threading.Thread(target=_drip, args=(connection, drip, stop), daemon=True)
            dripping.start()
            self.ends[name] = _end(connection)
            stop.set()
            dripping.join()


def _drip(connection: socket.socket, drip: bytes, stop: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while drip and not stop.wait(DRIP):
            connection.sendall(drip)


def _end(connection: socket.socket) -> int | str:
    try:
        return Reader(connection).answer(deadline=time.monotonic() + SECONDS_TO_BE_LET_GO).status
    except (EOFError, ConnectionError):
        return CLOSED
    except TimeoutError:
        return f"not let go within {SECONDS_TO_BE_LET_GO} s"
    except BrokenAnswerError as error:
        return str(error)
