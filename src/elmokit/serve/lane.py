"""A device with its queue and its thread, and how long the line may be there."""

import time
from collections.abc import Sequence

from elmokit.serve.batcher import Batcher
from elmokit.serve.device_thread import BatchMetrics, DeviceThread
from elmokit.serve.embedding import Embedding, Wanted
from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.line_length import STEPS
from elmokit.serve.work import Part

SENTENCE = [f"word{number}" for number in range(STEPS - MARKS)]
# Tokens of the batch that shows how fast a device is, as a part of the largest.
SHARE_OF_BATCH = 8
TIMES = 3


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
        count = max(2, self._limits.batch_tokens // SHARE_OF_BATCH // STEPS)
        times = TIMES if self._limits.queue_tokens is None else 1
        lone, many = _least_seconds(embedding, wanted, (1, count), times)
        self.batcher.learn_reference(
            embedding, [(STEPS, STEPS, lone), (STEPS, count * STEPS, many)]
        )

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end the thread."""
        self.batcher.close()
        self._thread.join()


def _least_seconds(
    embedding: Embedding, wanted: Wanted, sizes: Sequence[int], times: int
) -> list[float]:
    """Give the least time that each number of sentences takes: others may use the machine too.

    They take turns, so that a moment in which others do is not one size's alone.
    """
    found: list[list[float]] = [[] for _ in sizes]
    for _ in range(times):
        for size, seconds in zip(sizes, found, strict=True):
            part = Part(wanted, [SENTENCE] * size)
            since = time.perf_counter()
            embedding.begin([part])()
            seconds.append(time.perf_counter() - since)
    return [min(seconds) for seconds in found]
