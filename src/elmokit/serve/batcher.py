"""The line in which requests wait, and how batches are made of it.

Requests are bounded by number and by cost, so that the wait of those that are accepted is bounded
too. Batches are filled by turns: a long request gives way to those behind it after each share, and
nobody waits for all of it.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from elmokit.serve.line_length import LineLength
from elmokit.serve.pace import Pace
from elmokit.serve.problems import RequestError, queue_is_full, shutting_down
from elmokit.serve.work import Computation, Part, Work

# A request takes this part of a batch at a time, then it is the others' turn.
SHARE_OF_BATCH = 16
# A long request counts for no more than this part of what may wait, since it is served by turns: so
# many of them together make batches as large as the library does.
SHARE_OF_QUEUE = 16

# A burst may make the line longer by this part of it, unless somebody was just refused.
# When far too many come, the line has its own length, which makes nobody wait for long; when they
# stop coming, the next ones find room at once, though the line is as long as before.
BURST, CALM_SECONDS = 0.5, 0.5

# Less room than this part of the line is room for hardly any request.
NEARLY_FULL = 32


class Share(NamedTuple):
    """What a batch holds of one request."""

    work: Work
    first: int
    end: int

    @property
    def part(self) -> Part:
        """Its items."""
        return Part(self.work.wants, self.work.items[self.first : self.end])

    @property
    def tokens(self) -> int:
        """Tokens of its items."""
        return sum(self.work.costs[self.first : self.end])


class Batcher:
    """A bounded queue between the event loop, which fills it, and one thread, which empties it."""

    def __init__(
        self,
        *,
        batch_tokens: int,
        queue_requests: int,
        queue_tokens: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._batch_tokens = batch_tokens
        self._queue_requests = queue_requests
        self._queue_tokens = queue_tokens
        self._line: deque[Work] = deque()
        self._cost = 0.0  # of the line, in tokens that are embedded
        self._counted = 0.0  # the same as far as it counts
        self._closed = False
        self._clock = clock
        self._refused_at = -math.inf
        self._changed = threading.Condition()
        self.pace = Pace(batch_tokens=batch_tokens)
        self._line_length = LineLength(batch_tokens=batch_tokens)

    @property
    def queue_tokens(self) -> int:
        """What the line may cost, in tokens that are embedded; in a burst somewhat more."""
        return self._queue_tokens or self._line_length.tokens

    @property
    def waiting_requests(self) -> int:
        """Requests with items that are in no batch yet."""
        return len(self._line)

    @property
    def waiting_tokens(self) -> int:
        """Tokens that are in no batch yet."""
        with self._changed:
            return sum(work.waiting_tokens for work in self._line)

    def submit(self, work: Work) -> None:
        """Put a request in line, or raise an error that refuses it."""
        with self._changed:
            if self._closed:
                raise shutting_down()
            work.weight = self.pace.weight(work.computation)
            work.counted = self._count(work)
            counted = self._counted + work.counted
            if len(self._line) >= self._queue_requests or counted > self._most():
                raise self._refusal()
            self._line.append(work)
            self._cost += work.waiting_tokens * work.weight
            self._counted = counted
            self._changed.notify()

    def no_room(self) -> RequestError | None:
        """Give the error that nearly every request would be refused with now, if there is one."""
        almost = (1 - 1 / NEARLY_FULL) * self._most()
        if len(self._line) < self._queue_requests and self._counted <= almost:
            return None
        return self._refusal()

    def cancel(self, work: Work) -> bool:
        """Forget a request that nobody waits for; says whether that saved computing any of it."""
        with self._changed:
            work.gone = True
            if work.waiting_tokens == 0:
                return False
            self._line.remove(work)
            self._cost -= work.waiting_tokens * work.weight
            self._counted -= work.counted
            work.waiting_tokens = 0
            return True

    def take(self, *, wait: bool = True) -> list[Share] | None:
        """Give the next batch, of one computation; None where no more will come.

        Without ``wait`` the batch is empty where nothing is in line.
        """
        with self._changed:
            while not self._line:
                if self._closed:
                    return None
                if not wait:
                    return []
                self._changed.wait()
            return self._filled(self._line[0].computation)

    def learn_reference(
        self, computation: Computation, measured: Sequence[tuple[int, int, float]]
    ) -> None:
        """Settle what the others are compared with, by its steps, tokens and seconds.

        The last of ``measured`` is of a batch that is large enough to tell how fast it is.
        """
        _, tokens, seconds = measured[-1]
        self.pace.learn_reference(computation, tokens, seconds)
        self._line_length = LineLength(batch_tokens=self._batch_tokens)
        for steps, tokens, seconds in measured:
            self._line_length.learn(steps=steps, tokens=tokens, seconds=seconds)

    def learn(self, batch: Sequence[Share], seconds: float) -> None:
        """Take into account how long a batch took."""
        computation, tokens = batch[0].work.computation, sum(one.tokens for one in batch)
        self.pace.learn(computation, tokens, seconds)
        if self.pace.is_reference(computation):
            steps = max(max(one.work.costs[one.first : one.end]) for one in batch)
            self._line_length.learn(steps=steps, tokens=tokens, seconds=seconds)

    def close(self) -> None:
        """Take no more requests; what is in line is still given out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _most(self) -> float:
        """Give what the line may cost now."""
        if self._queue_tokens is not None:
            return self._queue_tokens
        calm = min((self._clock() - self._refused_at) / CALM_SECONDS, 1.0)
        return self._line_length.tokens * (1 + BURST * calm)

    def _refusal(self) -> RequestError:
        self._refused_at = self._clock()
        return queue_is_full(self.pace.seconds(self._cost))

    def _filled(self, computation: Computation) -> list[Share]:
        room = float(self._batch_tokens)
        batch: dict[Work, Share] = {}
        passed: list[Work] = []
        while self._line:
            work = self._line.popleft()
            if work.computation is not computation:
                passed.append(work)
                continue
            first = work.taken
            # An item that is larger than a batch has one for itself.
            room -= self._take_turn(work, room, alone=not batch)
            if work.taken == first:
                passed.append(work)
                break
            begun = batch.get(work)
            batch[work] = Share(work, begun.first if begun else first, work.taken)
            if work.taken < len(work.items):
                self._line.append(work)
        self._line.extendleft(reversed(passed))
        if not self._line:
            self._cost = self._counted = 0.0  # where rounding might have left something
        return list(batch.values())

    def _take_turn(self, work: Work, room: float, *, alone: bool) -> float:
        """Move items of a request into the batch until its turn is over; gives their cost."""
        self._counted -= work.counted
        used, turn = 0.0, self._batch_tokens / SHARE_OF_BATCH
        while work.taken < len(work.items) and used < turn:
            cost = work.costs[work.taken] * work.weight
            if used + cost > room and not (alone and used == 0):
                break
            work.waiting_tokens -= work.costs[work.taken]
            work.taken += 1
            used += cost
        work.counted = self._count(work)
        self._counted += work.counted
        self._cost -= used
        return used

    def _count(self, work: Work) -> float:
        return min(work.waiting_tokens * work.weight, self.queue_tokens / SHARE_OF_QUEUE)
