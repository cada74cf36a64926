"""A device with its queue and its thread."""

import time

from elmokit.serve.batcher import Batcher
from elmokit.serve.device_thread import DeviceThread
from elmokit.serve.embedding import Embedding, Wanted
from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.metrics import Metrics
from elmokit.serve.work import Part

# As many tokens as it takes to see what a large batch would cost.
SHARE_OF_BATCH = 4
SENTENCE = ("So", "long", "is", "a", "sentence", "that", "people", "write", "to", "others", ".")


class Lane:
    """Everything that computes on one device goes through here."""

    def __init__(self, device: str, *, limits: Limits, metrics: Metrics) -> None:
        self.batcher = Batcher(
            batch_tokens=limits.batch_tokens,
            queue_requests=limits.queue_requests,
            queue_tokens=limits.queue_tokens,
        )
        self._limits = limits
        self._thread = DeviceThread(self.batcher, device=device, metrics=metrics)

    def measure(self, embedding: Embedding, wanted: Wanted) -> None:
        """See how fast the device embeds, before anybody waits."""
        cost = len(SENTENCE) + MARKS
        count = max(1, self._limits.batch_tokens // SHARE_OF_BATCH // cost)
        part = Part(wanted, [list(SENTENCE)] * count)
        embedding.begin([part])()
        since = time.perf_counter()
        embedding.begin([part])()
        self.batcher.pace.learn_reference(embedding, cost * count, time.perf_counter() - since)

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end the thread."""
        self.batcher.close()
        self._thread.join()
