"""Many clients that ask and leave before they are served."""

import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from integration.serve_load.exchange import request_bytes
from integration.serve_load.server_process import PATIENCE, ServerProcess, total

CLIENTS = 500
SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class HungUp:
    """What a server made of it."""

    clients: int
    queued: int
    """Requests in line when the clients left; the others had been refused."""
    seen: float
    """Seconds until the server had noticed all of them."""
    cancelled: int
    """Requests that were taken out of the line."""
    computed: int
    """Their sentences that were computed all the same."""
    still_computing: bool
    """Whether the batch before them was at work until all were noticed, as it must for a test."""


def hang_up(server: ServerProcess, *, blocker: list[list[str]], clients: int = CLIENTS) -> HungUp:
    """Keep the server busy with a batch, have clients get in line behind it, and leave."""
    connections = [server.connect() for _ in range(clients)]
    headers = {} if server.key is None else {"Authorization": f"Bearer {server.key}"}
    requests = [
        request_bytes("POST", "/v1/embeddings", body, headers=headers)
        for body in (json.dumps({"input": f"word{n}"}).encode() for n in range(clients))
    ]
    before = server.metrics()
    refused = _refused(server)
    with server.connect(timeout=PATIENCE) as busy:
        body = json.dumps({"input": blocker, "layers": "top"}).encode()
        ask = {"Accept": "application/octet-stream", **headers}
        busy.sendall(request_bytes("POST", "/v1/tokens", body, headers=ask))
        _wait_until(lambda: _in_flight(server) >= 2)
        for connection, request in zip(connections, requests, strict=True):
            connection.sendall(request)
        _wait_until(lambda: _in_flight(server) + _refused(server) - refused >= clients + 2)
        queued = _queued(server)
        computed_before = _computed(server)
        since = time.monotonic()
        for connection in connections:
            connection.close()
        _wait_until(lambda: _in_flight(server) <= 2)
        seen = time.monotonic() - since
        still_computing = _computed(server) == computed_before
        _drain(busy)
    after = server.metrics()
    cancelled = _cancelled(after, "waiting") - _cancelled(before, "waiting")
    return HungUp(
        clients=clients,
        queued=queued,
        seen=seen,
        cancelled=int(cancelled),
        computed=_computed(server) - computed_before - len(blocker),
        still_computing=still_computing,
    )


def _wait_until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _drain(connection: socket.socket) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(65536)
    left = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    left -= len(head.partition(b"\r\n\r\n")[2])
    while left > 0 and (data := connection.recv(1 << 20)):
        left -= len(data)


def _in_flight(server: ServerProcess) -> int:
    """Requests being answered; the one that asks is among them."""
    return int(total(server.metrics(), "elmokit_requests_in_flight"))


def _queued(server: ServerProcess) -> int:
    return int(total(server.metrics(), "elmokit_queue_requests"))


def _refused(server: ServerProcess) -> int:
    return int(total(server.metrics(), "elmokit_requests_refused_total"))


def _computed(server: ServerProcess) -> int:
    return int(total(server.metrics(), "elmokit_items_computed_total"))


def _cancelled(figures: dict[str, float], stage: str) -> float:
    return figures.get(f'elmokit_requests_cancelled_total{{stage="{stage}"}}', 0.0)
