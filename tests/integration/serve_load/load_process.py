"""A load generator, in a process of its own: raw keep-alive connections on one event loop.

Run by `load.start_load`. Every vector that comes back is compared with its reference at once.
"""

import asyncio
import base64
import contextlib
import io
import json
import os
import random
import re
import sys
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np

from integration.serve_load.load_plan import BROKEN, CLOSED, NEVER, REFUSED, Plan, Seen
from integration.serve_load.requests_file import Request, read_requests

BASE64_STARTS = b'"embedding":"'
COUNTS_START = b"x-token-counts:"
SECONDS_TO_INSIST = 0.02
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)")


class Connection(asyncio.Protocol):
    """One keep-alive connection with one request on its way."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._held = bytearray()
        self._waiting: asyncio.Future[tuple[int, bytes, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Read until an answer is complete."""
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0 or self._waiting is None:
            return
        head = bytes(self._held[:end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(self._held) < end + 4 + length:
            return
        body = bytes(self._held[end + 4 : end + 4 + length])
        self._held.clear()
        if b"connection: close" in head:
            self.close()
        self._end((int(head[9:12]), head, body))

    def connection_lost(self, error: Exception | None) -> None:
        """Note that nothing more will come."""
        self.transport = None
        self._end((BROKEN if self._held else CLOSED, b"", b""))

    async def ask(self, request: bytes, *, patience: float) -> tuple[int, bytes, bytes]:
        """Send a request; gives status, head and body."""
        assert self.transport is not None
        self._held.clear()
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        try:
            async with asyncio.timeout(patience):
                return await self._waiting
        except TimeoutError:
            self.close()
            return NEVER, b"", b""

    def close(self) -> None:
        """End the connection."""
        if self.transport is not None:
            self.transport.abort()
            self.transport = None

    def _end(self, answer: tuple[int, bytes, bytes]) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)


class Row(NamedTuple):
    """What became of one request; see `Seen`."""

    due: float
    sent: float
    done: float
    status: int
    difference: float
    tokens: int
    retry: float
    """Seconds after which to come again; 0: it does not say."""


class Load:
    """Sends what a plan asks for and keeps what is seen."""

    def __init__(self, plan: Plan, requests: list[Request]) -> None:
        self._plan = plan
        self._requests = requests
        self._rows: list[Row] = []
        self._begun = 0
        self._chance = random.Random(plan.seed)
        self._idle: deque[Connection] = deque()
        self._all: list[Connection] = []

    async def run(self) -> Seen:
        """Send everything."""
        self._all = [Connection() for _ in range(self._plan.clients)]
        await asyncio.gather(*map(self._connect, self._all))
        print("started", time.monotonic(), flush=True)
        if self._plan.rate is None:
            await asyncio.gather(*map(self._without_pause, self._all))
        else:
            await self._at_a_rate(self._plan.rate)
        for one in self._all:
            one.close()
        return self._seen()

    async def _connect(self, connection: Connection) -> bool:
        if connection.transport is not None and not connection.transport.is_closing():
            return True
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            await loop.create_connection(lambda: connection, "127.0.0.1", self._plan.port)
            return True
        return False

    def _next(self) -> Request | None:
        if self._plan.count and self._begun >= self._plan.count:
            return None
        request = self._requests[(self._plan.first + self._begun) % len(self._requests)]
        self._begun += 1
        return request

    async def _without_pause(self, connection: Connection) -> None:
        end = time.monotonic() + self._plan.seconds
        while (now := time.monotonic()) < end and (request := self._next()) is not None:
            row = await self._send(connection, request, due=now)
            while row.status == 429 and self._plan.insistent:
                # As it is told to; not all at the same moment.
                await asyncio.sleep(row.retry * self._chance.uniform(0.5, 1.0))
                row = await self._send(connection, request, due=now)
            self._rows.append(row)
            if row.status == REFUSED:
                await asyncio.sleep(SECONDS_TO_INSIST)

    async def _at_a_rate(self, rate: float) -> None:
        self._idle.extend(self._all)
        free = asyncio.Event()
        under_way: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        end = due + self._plan.seconds

        async def send(connection: Connection, request: Request, due: float) -> None:
            self._rows.append(await self._send(connection, request, due=due))
            self._idle.append(connection)
            free.set()

        while due < end and (request := self._next()) is not None:
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            while not self._idle:
                if len(self._all) < self._plan.most_clients:
                    self._all.append(Connection())
                    self._idle.append(self._all[-1])
                else:
                    free.clear()
                    await free.wait()
            task = asyncio.create_task(send(self._idle.popleft(), request, due))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            due += self._chance.expovariate(rate)
        if under_way:
            await asyncio.wait(under_way)

    async def _send(self, connection: Connection, request: Request, *, due: float) -> Row:
        status, head, body, sent = REFUSED, b"", b"", time.monotonic()
        if await self._connect(connection):
            sent = time.monotonic()
            status, head, body = await connection.ask(request.data, patience=self._plan.patience)
        done = time.monotonic()
        difference = float("nan")
        if status == 200 and request.vectors is not None:
            difference = distance(request, head, body)
        found = RETRY_AFTER.search(head)
        retry = 0.0 if found is None else float(found[1])
        return Row(due, sent, done, status, difference, request.tokens, retry)

    def _seen(self) -> Seen:
        rows = sorted(self._rows, key=lambda row: row.sent)
        return Seen(
            due=np.array([row.due for row in rows], np.float64),
            sent=np.array([row.sent for row in rows], np.float64),
            done=np.array([row.done for row in rows], np.float64),
            status=np.array([row.status for row in rows], np.int64),
            difference=np.array([row.difference for row in rows], np.float64),
            tokens=np.array([row.tokens for row in rows], np.int64),
            retry=np.array([row.retry > 0 for row in rows], np.bool_),
        )


def distance(request: Request, head: bytes, body: bytes) -> float:
    """Give how far an answer is from the reference, infinite where it has another shape."""
    assert request.vectors is not None
    if b"application/octet-stream" in head:
        counts = head.partition(COUNTS_START)[2].partition(b"\r\n")[0].split(b",")
        ends = np.cumsum([int(count) for count in counts])
        tokens = np.load(io.BytesIO(body))
        if len(tokens) != ends[-1]:
            return float("inf")
        vectors = np.stack([part.mean(axis=0) for part in np.split(tokens, ends[:-1])])
    else:
        encoded = [part.partition(b'"')[0] for part in body.split(BASE64_STARTS)[1:]]
        vectors = np.stack([np.frombuffer(base64.b64decode(one), dtype="<f4") for one in encoded])
    if vectors.shape != request.vectors.shape:
        return float("inf")
    return float(np.abs(vectors - request.vectors).max())


def main() -> None:
    """Run the plan of the first argument and write what was seen to the file of the second."""
    plan = Plan.read(sys.argv[1])
    requests = read_requests(Path(plan.requests), key=plan.key)
    with contextlib.suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    seen = asyncio.run(Load(plan, requests).run())
    seen.save(Path(sys.argv[2]))
    print(json.dumps({"cpu": time.process_time(), "process": os.getpid()}), flush=True)


if __name__ == "__main__":
    main()
