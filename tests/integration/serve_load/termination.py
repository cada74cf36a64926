"""SIGTERM while clients ask without pause: what was accepted is answered."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from integration.serve_load.load import start_load
from integration.serve_load.load_plan import BROKEN, CLOSED, NEVER, REFUSED, Plan, Seen
from integration.serve_load.server_process import ServerProcess, total
from integration.serve_load.soak import TOLERANCE

CLIENTS = 64
AFTERWARDS = 1.0
"""So long clients go on asking."""
ENDS = {200, 429, 503, REFUSED}
"""How a request may end that was sent before the signal; those after it may find it closed too."""


@dataclass(frozen=True)
class Terminated:
    """One server's end."""

    exit_code: int
    seconds: float
    """From the signal to the end of the process."""
    waiting: int
    """Requests that were certainly accepted before the signal: the server had them in line."""
    answered_later: int
    """Requests that were answered 200 after the server had counted those in line."""
    sent_before: int
    """Requests that were sent before the signal and unanswered then."""
    lost: int
    """Requests of before the signal without a complete answer, and those accepted but refused."""
    broken: int
    """Answers that broke off, at any time."""
    mixed: int
    statuses: dict[int, int]


def terminate_under_load(server: ServerProcess, requests: Path, *, after: float) -> Terminated:
    """Load a server, ask for its end after so many seconds, and see what clients saw."""
    load = start_load(
        Plan(
            port=server.port,
            requests=str(requests),
            clients=CLIENTS,
            seconds=after + AFTERWARDS,
            key=server.key,
        )
    )
    time.sleep(after)
    asked = time.monotonic()
    waiting = int(total(server.metrics(), "elmokit_queue_requests"))
    signalled = time.monotonic()
    server.terminate()
    exit_code = server.wait()
    ended = time.monotonic()
    seen = load.wait()
    return judged(
        seen,
        waiting,
        asked=asked,
        signalled=signalled,
        exit_code=exit_code,
        seconds=ended - signalled,
    )


def judged(
    seen: Seen, waiting: int, *, asked: float, signalled: float, exit_code: int, seconds: float
) -> Terminated:
    """Count what was lost."""
    before = (seen.sent < signalled) & (seen.done >= signalled)
    unanswered = before & ~np.isin(seen.status, list(ENDS))
    later = int((seen.answered & (seen.done >= asked)).sum())
    after = seen.sent >= signalled
    strange = after & ~np.isin(seen.status, [*ENDS, CLOSED])
    return Terminated(
        exit_code=exit_code,
        seconds=seconds,
        waiting=waiting,
        answered_later=later,
        sent_before=int(before.sum()),
        lost=int(unanswered.sum()) + max(0, waiting - later) + int(strange.sum()),
        broken=int(np.isin(seen.status, [BROKEN, NEVER]).sum()),
        mixed=int((~(seen.difference[seen.answered] <= TOLERANCE)).sum()),
        statuses=seen.statuses(),
    )
