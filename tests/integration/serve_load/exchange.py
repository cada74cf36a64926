"""HTTP/1.1 by hand: any bytes go out, and what comes back is read strictly."""

import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

MOST_HEAD = 64 * 1024
READ_AT_ONCE = 256 * 1024


class BrokenAnswerError(Exception):
    """What came back is no complete HTTP answer."""


class Answer(NamedTuple):
    """One answer."""

    status: int
    headers: dict[str, str]
    """With names in small letters."""
    body: bytes


def request_bytes(
    method: str,
    target: str,
    body: bytes | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Write an ordinary request."""
    lines = {"Host": "localhost", **(headers or {})}
    if body is not None:
        lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **lines}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b"")


def exchange(connection: socket.socket, request: bytes) -> Answer:
    """Send a request and read its answer, within the connection's time limit."""
    connection.sendall(request)
    return Reader(connection).answer(head_only=request.startswith(b"HEAD "))


class Reader:
    """Reads answers from a connection, one after another."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._held = b""

    def answer(self, *, head_only: bool = False, deadline: float | None = None) -> Answer:
        """Read one answer; raises where the connection ends or the time is over before it does.

        Interim answers (1xx) are passed over.
        """
        while True:
            status, headers = parsed_head(self._until(b"\r\n\r\n", deadline))
            if status >= 200:
                break
        if head_only or status in (204, 304):
            return Answer(status, headers, b"")
        if "content-length" not in headers:
            raise BrokenAnswerError("an answer without a length")
        length = int(headers["content-length"])
        while len(self._held) < length:
            self._more(deadline)
        body, self._held = self._held[:length], self._held[length:]
        return Answer(status, headers, body)

    @property
    def left_over(self) -> bytes:
        """Bytes that were read and belong to no answer yet."""
        return self._held

    def _until(self, mark: bytes, deadline: float | None) -> bytes:
        while mark not in self._held:
            if len(self._held) > MOST_HEAD:
                raise BrokenAnswerError("an endless head")
            self._more(deadline)
        before, _, self._held = self._held.partition(mark)
        return before

    def _more(self, deadline: float | None) -> None:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("no answer in time")
            self._connection.settimeout(left)
        received = self._connection.recv(READ_AT_ONCE)
        if not received:
            if self._held:
                raise BrokenAnswerError(f"the answer breaks off after {self._held[:80]!r}")
            raise EOFError("closed without an answer")
        self._held += received


def parsed_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Cut the head of an answer into status and headers."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if version not in ("HTTP/1.1", "HTTP/1.0") or not rest[:3].isdigit():
        raise BrokenAnswerError(f"no status line: {first[:80]!r}")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BrokenAnswerError(f"no header: {line[:80]!r}")
        headers[name.lower()] = value.strip()
    return int(rest[:3]), headers
