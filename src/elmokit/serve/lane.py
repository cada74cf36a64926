"""A device with its queue and its thread, and how long the line may be there."""

import time

from elmokit.serve.batcher import Batcher
from elmokit.serve.device_thread import BatchMetrics, DeviceThread
from elmokit.serve.embedding import Embedding, Wanted
from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.work import Part

# About as many tokens as sentences have.
SENTENCE = [f"word{number}" for number in range(24)]
# Tokens of the batch that shows how fast a device is, as a part of the largest.
SHARE_OF_BATCH = 8
TIMES = 3
# A batch costs so much for itself and so much for each of its tokens. A line with tokens for this
# many times the former makes batches that lose little by it; a longer one makes people wait, and
# wins nothing more.
LINE_PER_BATCH = 5.0
SHORTEST_LINE, LONGEST_LINE = 1 / 8, 2.0


class Lane:
    """Everything that computes on one device goes through here."""

    def __init__(self, device: str, *, limits: Limits, metrics: BatchMetrics) -> None:
        self.batcher = Batcher(
            batch_tokens=limits.batch_tokens,
            queue_requests=limits.queue_requests,
            queue_tokens=limits.queue_tokens,
        )
        self._limits = limits
        self._thread = DeviceThread(self.batcher, device=device, metrics=metrics)

    def measure(self, embedding: Embedding, wanted: Wanted) -> None:
        """See how fast the device embeds, and settle how much may wait."""
        cost = len(SENTENCE) + MARKS
        count = max(2, self._limits.batch_tokens // SHARE_OF_BATCH // cost)
        times = TIMES if self._limits.queue_tokens is None else 1
        lone, many = (_seconds(embedding, wanted, rows, times) for rows in (1, count))
        self.batcher.pace.learn_reference(embedding, count * cost, many)
        if self._limits.queue_tokens is None:
            per_token = max(many - lone, 0.0) / ((count - 1) * cost)
            per_batch = max(lone - cost * per_token, 0.0)
            most = LONGEST_LINE * self._limits.batch_tokens
            least = SHORTEST_LINE * self._limits.batch_tokens
            wanted_line = LINE_PER_BATCH * per_batch / per_token if per_token else most
            self.batcher.queue_tokens = round(min(max(wanted_line, least), most))

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end the thread."""
        self.batcher.close()
        self._thread.join()


def _seconds(embedding: Embedding, wanted: Wanted, rows: int, times: int) -> float:
    """Give the least time that so many sentences take: others may use the machine too."""
    part = Part(wanted, [SENTENCE] * rows)
    found = []
    for _ in range(times):
        since = time.perf_counter()
        embedding.begin([part])()
        found.append(time.perf_counter() - since)
    return min(found)
