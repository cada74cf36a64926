"""What a load generator is asked to send, and what it has seen."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

# How a request ended that got no complete answer.
REFUSED = -1
"""No connection could be made."""
CLOSED = -2
"""The connection ended before a byte of the answer came."""
BROKEN = -3
"""The connection ended within the answer."""
NEVER = -4
"""No answer came in time."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Requests for a server, over time."""

    port: int
    requests: str
    """A file of `write_requests`."""
    clients: int
    """Connections; each has one request on its way at most."""
    seconds: float
    """How long requests are begun."""
    rate: float | None = None
    """Requests a second, at random times; None: each client sends as soon as it has its answer."""
    most_clients: int = 0
    """With a rate, connections are added up to so many where all are busy."""
    first: int = 0
    """Number of the first request; those after the last begin again."""
    count: int = 0
    """No more than so many requests; 0: as many as the time allows."""
    insistent: bool = False
    """Without a rate: whether a request that is refused for now (429) is sent again."""
    patience: float = 60.0
    """Seconds to wait for an answer."""
    seed: int = 0
    key: str | None = None

    def text(self) -> str:
        """Write it down."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Plan":
        """Read what `text` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Seen:
    """What became of each request, in the order of sending; times are of the system's clock."""

    due: npt.NDArray[np.float64]
    sent: npt.NDArray[np.float64]
    done: npt.NDArray[np.float64]
    status: npt.NDArray[np.int64]
    difference: npt.NDArray[np.float64]
    """How far the vector is from the reference; not a number where there was no vector."""
    tokens: npt.NDArray[np.int64]
    retry: npt.NDArray[np.bool_]
    """Whether the answer has a header Retry-After."""

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """Give the time from sending to the end of the answer."""
        return self.done - self.sent

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Say which were answered 200."""
        return np.equal(self.status, 200)

    def statuses(self) -> dict[int, int]:
        """Count the ends."""
        found, counts = np.unique(self.status, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def percentile(self, share: float) -> float:
        """Give the time within which a share (0..100) of those answered 200 had their answer."""
        return float(np.percentile(self.seconds[self.answered], share))

    def part(self, chosen: npt.NDArray[np.bool_]) -> "Seen":
        """Give some of them."""
        return Seen(**{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__})

    def save(self, file: Path) -> None:
        """Write all arrays."""
        np.savez(file, **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, file: Path) -> "Seen":
        """Read what `save` wrote."""
        with np.load(file) as arrays:
            return cls(**{name: arrays[name] for name in cls.__dataclass_fields__})
