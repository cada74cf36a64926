"""Several times more than a server can do, for a while: most are sent away, the rest is served."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from integration.serve_load.load import start_load
from integration.serve_load.load_plan import Plan, Seen
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.soak import CLIENTS, TOLERANCE

SHARE = 0.8
TIMES = 4.0
MOST_CLIENTS = 3000
SLOW = 2.0
"""So many times the normal p99 is what nobody should need."""
QUIET_SECONDS = 2.0
"""After so long without trouble, what comes later has other causes: a machine that others use."""


@dataclass(frozen=True)
class Overloaded:
    """Before, during and after; one group of clients goes on asking at the normal rate."""

    before: Seen
    during: Seen
    after: Seen
    began: float
    ended: float

    @property
    def statuses(self) -> dict[int, int]:
        """How requests ended, of all times."""
        counts: dict[int, int] = {}
        for part in (self.before, self.during, self.after):
            for status, count in part.statuses().items():
                counts[status] = counts.get(status, 0) + count
        return counts

    @property
    def offered(self) -> float:
        """Requests a second that were really sent meanwhile."""
        return len(self.during.sent) / (self.ended - self.began)

    @property
    def accepted(self) -> float:
        """Requests a second that were answered 200 meanwhile."""
        return float(self.during.answered.sum() / (self.ended - self.began))

    @property
    def without_advice(self) -> int:
        """Refusals that do not say when to come back."""
        return int(((self.during.status == 429) & ~self.during.retry).sum())

    @property
    def mixed(self) -> int:
        """Answers with another vector than the sentence's own."""
        parts = (self.before, self.during, self.after)
        return sum(int((~(one.difference[one.answered] <= TOLERANCE)).sum()) for one in parts)

    @property
    def ratio(self) -> float:
        """The p99 of those accepted meanwhile, beside the normal one."""
        return self.during.percentile(99) / self.before.percentile(99)

    @property
    def recovery(self) -> float:
        """Seconds after the end until a while goes by in which nobody is refused or slow."""
        last = self.ended
        for sent in np.sort(self.after.sent[self._is_bad(self.after)]):
            if sent - last > QUIET_SECONDS:
                break
            last = float(sent)
        return last - self.ended

    def share_of_bad(self, seen: Seen) -> float:
        """Give the share of requests that were refused or slow."""
        return float(self._is_bad(seen).mean())

    def _is_bad(self, seen: Seen) -> npt.NDArray[np.bool_]:
        return ~seen.answered | (seen.seconds > SLOW * self.before.percentile(99))


def overload(
    server: ServerProcess, requests: Path, *, capacity: float, normal: float, seconds: float
) -> Overloaded:
    """Load a server normally for ``normal`` seconds, too much for ``seconds``, then normally."""
    steady = Plan(
        port=server.port,
        requests=str(requests),
        clients=CLIENTS,
        most_clients=MOST_CLIENTS,
        rate=SHARE * capacity,
        seconds=2 * normal + seconds,
        key=server.key,
    )
    surplus = Plan(
        port=server.port,
        requests=str(requests),
        clients=CLIENTS,
        most_clients=MOST_CLIENTS,
        rate=(TIMES - SHARE) * capacity,
        seconds=seconds,
        first=1_000,
        seed=1,
        key=server.key,
    )
    usual = start_load(steady)
    time.sleep(max(0.0, usual.started + normal - time.monotonic()))
    more = start_load(surplus)
    extra = more.wait()
    seen = usual.wait()
    began, ended = more.started, float(extra.sent.max())
    during = (seen.sent >= began) & (seen.sent <= ended)
    return Overloaded(
        before=seen.part(seen.sent < began),
        during=joined(seen.part(during), extra),
        after=seen.part(seen.sent > ended),
        began=began,
        ended=ended,
    )


def joined(one: Seen, other: Seen) -> Seen:
    """Give the requests of two generators together."""
    return Seen(
        **{
            name: np.concatenate([getattr(one, name), getattr(other, name)])
            for name in Seen.__dataclass_fields__
        }
    )
