"""A connection whose requests begin within bounds: uvicorn waits for ever, and for any size."""

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

SECONDS_FOR_HEAD = 30.0
HEAD_BYTES = 64 * 1024
# So many requests may be sent before the answers to earlier ones have come.
MOST_AHEAD = 8
# One read may hold much more than a head; it is looked at in steps of this.
STEP_BYTES = 16 * 1024
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Connection(HttpToolsProtocol):
    """Closes where the head of a request is too large or takes too long."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._cycles: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_timer()
        # uvicorn tells the latest request alone; others may have been sent ahead of it.
        for cycle in self._cycles:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head has become too large."""
        for first in range(0, len(data), STEP_BYTES):
            step = data[first : first + STEP_BYTES]
            # Where a head begins within a step, it is counted from the next one.
            self._head_bytes += len(step)
            super().data_received(step)
            if self.transport.is_closing():
                return
            if self._head_timer is not None and self._head_bytes > HEAD_BYTES:
                self._stop_timer()
                self.transport.write(TOO_LARGE)
                self.transport.close()
                return

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """Note that a head is there."""
        self._stop_timer()
        super().on_headers_complete()
        self._cycles = [one for one in self._cycles if not one.response_complete]
        self._cycles.append(self.cycle)
        if len(self.pipeline) < MOST_AHEAD:
            # uvicorn stops reading at the first request that comes too early, and would then not
            # see that the client has left.
            self.flow.resume_reading()

    def _expect_head(self) -> None:
        self._stop_timer()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(SECONDS_FOR_HEAD, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
