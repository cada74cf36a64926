"""One case of the corpus: bytes for a server, and which answers are right.

Every case carries a `MARKER`, in one encoding or another: no refusal may repeat it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MARKER = "Zq7marker"
"""Stands in every case; a plain word, which any tokeniser keeps whole."""
CLOSED = 0
"""Among the answers that are right: the connection is closed without one."""

End = Literal["stay", "half close", "close", "reset"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Bytes to send, and what may come back."""

    name: str
    sends: tuple[bytes | float, ...]
    """What goes out; numbers are pauses in seconds."""
    right: frozenset[int]
    """The statuses that are right for the first answer; `CLOSED` where none need come."""
    answers: int = 1
    """How many answers are read, where the connection stays open."""
    end: End = "stay"
    """What the client does after sending."""
    head_only: bool = False
    """Whether the answer has no body."""

    @property
    def sent(self) -> bytes:
        """All bytes."""
        return b"".join(part for part in self.sends if isinstance(part, bytes))


def raw(
    name: str,
    *sends: bytes | float,
    right: Iterable[int] | int,
    answers: int = 1,
    end: End = "stay",
    head_only: bool = False,
) -> Case:
    """Make a case of bytes that are sent as they are."""
    statuses = frozenset([right] if isinstance(right, int) else right)
    return Case(
        name=name, sends=sends, right=statuses, answers=answers, end=end, head_only=head_only
    )


def post(
    body: bytes | str,
    *,
    path: str = "/v1/embeddings",
    content_type: bytes | None = b"application/json",
    headers: bytes = b"",
) -> bytes:
    """Write a well-framed POST around a body."""
    data = body.encode() if isinstance(body, str) else body
    kind = b"" if content_type is None else b"Content-Type: " + content_type + b"\r\n"
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Note: {MARKER}\r\n".encode()
        + kind
        + headers
        + b"Content-Length: %d\r\n\r\n" % len(data)
        + data
    )


def get(target: str | bytes, *, headers: bytes = b"", method: bytes = b"GET") -> bytes:
    """Write a GET."""
    place = target.encode("latin-1") if isinstance(target, str) else target
    note = f"Host: localhost\r\nX-Note: {MARKER}\r\n".encode()
    return method + b" " + place + b" HTTP/1.1\r\n" + note + headers + b"\r\n"
