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
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np

from integration.serve_load.load_plan import BROKEN, CLOSED, NEVER, REFUSED, Plan, Seen
from integration.serve_load.requests_file import Request, read_requests

BASE64_STARTS = b'"embedding":"'


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


class Load:
    """Sends what a plan asks for and keeps what is seen."""

    def __init__(self, plan: Plan, requests: list[Request]) -> None:
        self._plan = plan
        self._requests = requests
        self._rows: list[tuple[float, float, float, int, float, int, bool]] = []
        self._begun = 0
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
            if await self._send(connection, request, due=now) == REFUSED:
                await asyncio.sleep(0.01)

    async def _at_a_rate(self, rate: float) -> None:
        chance = random.Random(self._plan.seed)
        self._idle.extend(self._all)
        free = asyncio.Event()
        under_way: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        end = due + self._plan.seconds

        async def send(connection: Connection, request: Request, due: float) -> None:
            await self._send(connection, request, due=due)
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
            due += chance.expovariate(rate)
        if under_way:
            await asyncio.wait(under_way)

    async def _send(self, connection: Connection, request: Request, *, due: float) -> int:
        status, head, body, sent = REFUSED, b"", b"", time.monotonic()
        if await self._connect(connection):
            sent = time.monotonic()
            status, head, body = await connection.ask(request.data, patience=self._plan.patience)
        done = time.monotonic()
        difference = float("nan")
        if status == 200 and request.vector is not None:
            difference = distance(request, head, body)
        retry = b"\r\nretry-after:" in head
        self._rows.append((due, sent, done, status, difference, request.tokens, retry))
        return status

    def _seen(self) -> Seen:
        columns = list(zip(*sorted(self._rows, key=lambda row: row[1]), strict=True)) or [()] * 7
        due, sent, done, status, difference, tokens, retry = columns
        return Seen(
            due=np.array(due, np.float64),
            sent=np.array(sent, np.float64),
            done=np.array(done, np.float64),
            status=np.array(status, np.int64),
            difference=np.array(difference, np.float64),
            tokens=np.array(tokens, np.int64),
            retry=np.array(retry, np.bool_),
        )


def distance(request: Request, head: bytes, body: bytes) -> float:
    """Give how far an answer is from the reference, infinite where it has another shape."""
    assert request.vector is not None
    if b"application/octet-stream" in head:
        tokens = np.load(io.BytesIO(body))
        if tokens.shape != (request.tokens, len(request.vector)):
            return float("inf")
        vector = tokens.mean(axis=0)
    else:
        encoded = body.partition(BASE64_STARTS)[2].partition(b'"')[0]
        vector = np.frombuffer(base64.b64decode(encoded), dtype="<f4")
        if vector.shape != request.vector.shape:
            return float("inf")
    return float(np.abs(vector - request.vector).max())


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
