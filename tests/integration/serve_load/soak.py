"""Steady load for a long time: nothing lost, nothing mixed up, no memory gained."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from integration.serve_load.load import run_load, start_load
from integration.serve_load.load_plan import Plan, Seen
from integration.serve_load.server_process import ServerProcess

CLIENTS, MANY_CLIENTS = 64, 256
TOLERANCE = 1e-5
"""Batches differ in shape, and sums in their order with them."""
LARGE, LARGE_TIMES = 4 * CLIENTS, 3
SECONDS_BETWEEN_SAMPLES = 0.25
SHARE_OF_SAMPLES = 0.2
"""So much at either end is compared."""


@dataclass(frozen=True)
class Soaked:
    """What became of a server under load."""

    rate: float
    """Requests a second that were asked for."""
    seen: Seen
    memory: list[tuple[float, int]]
    """Resident bytes of the server, by the system's clock."""
    warm_up: float
    """Seconds of the load before memory counts."""

    @property
    def lost(self) -> int:
        """Requests that were not answered 200."""
        return int((~self.seen.answered).sum())

    @property
    def mixed(self) -> int:
        """Answers with another vector than the sentence's own."""
        return int((~(self.seen.difference[self.seen.answered] <= TOLERANCE)).sum())

    @property
    def worst(self) -> float:
        """How far the worst vector is from its reference."""
        return float(np.max(self.seen.difference[self.seen.answered]))

    @property
    def growth(self) -> float:
        """How much memory the end has more than the beginning, as a share."""
        first = self.memory[0][0] + self.warm_up
        held = [size for when, size in self.memory if when >= first]
        count = max(1, int(len(held) * SHARE_OF_SAMPLES))
        before, after = np.median(held[:count]), np.median(held[-count:])
        return float(after / before - 1)


def measured_capacity(
    server: ServerProcess, requests: Path, *, seconds: float, count: int = 0
) -> tuple[float, Seen]:
    """Give the requests a second that a server can do: many clients ask without pause, and again
    where they are refused, so that there is always a line.
    """
    seen = run_load(
        Plan(
            port=server.port,
            requests=str(requests),
            clients=MANY_CLIENTS,
            seconds=seconds,
            count=count,
            insistent=True,
            key=server.key,
        )
    )
    return answers_a_second(seen), seen


def answers_a_second(seen: Seen) -> float:
    """Give how many requests were answered 200 in a second; refusals cost a server nearly nothing.

    The start and the end, where not all clients are at work, are left out.
    """
    first, last = seen.sent.min(), seen.sent.max()
    in_time = (seen.done >= first + 0.2 * (last - first)) & (seen.done <= last)
    return float((in_time & seen.answered).sum() / (0.8 * (last - first)))


def send_large_requests(server: ServerProcess, sentences: Sequence[str]) -> None:
    """Have the server compute larger batches than the load will bring.

    Memory is taken for the largest batch that there was, and not given back. Which is the largest
    of many by chance, a soak is not meant to tell.
    """
    body = json.dumps({"input": list(sentences[:LARGE]), "encoding_format": "base64"}).encode()
    for _ in range(LARGE_TIMES):
        assert server.ask("POST", "/v1/embeddings", body).status == 200
        assert server.ask("POST", "/v1/tokens", body).status == 200


def soak(
    server: ServerProcess, requests: Path, *, rate: float, seconds: float, warm_up: float
) -> Soaked:
    """Ask at a rate, and watch the server's memory."""
    load = start_load(
        Plan(
            port=server.port,
            requests=str(requests),
            clients=CLIENTS,
            seconds=seconds,
            rate=rate,
            key=server.key,
        )
    )
    memory: list[tuple[float, int]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS_BETWEEN_SAMPLES):
            memory.append((time.monotonic(), server.resident_bytes()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        seen = load.wait()
    finally:
        done.set()
        watcher.join()
    return Soaked(rate, seen, memory, warm_up)
