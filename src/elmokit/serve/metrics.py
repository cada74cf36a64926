"""What can be seen of a server from outside, in Prometheus' format."""

from collections.abc import Callable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from elmokit.serve.batcher import Batcher

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TOKENS = (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)


class Metrics:
    """The figures of one server, on a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "elmokit_request_seconds",
            "Time from a request's first line to the end of its answer.",
            ["route", "status"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "elmokit_requests_in_flight", "Requests being answered.", registry=self.registry
        )
        self.refused = Counter(
            "elmokit_requests_refused",
            "Requests that were refused, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.cancelled = Counter(
            "elmokit_requests_cancelled",
            "Requests whose client left, by where they were then.",
            ["stage"],
            registry=self.registry,
        )
        self._batch_tokens = Histogram(
            "elmokit_batch_tokens",
            "Tokens of a batch.",
            ["computation"],
            buckets=TOKENS,
            registry=self.registry,
        )
        self._batch_seconds = Histogram(
            "elmokit_batch_seconds",
            "Time that a batch took.",
            ["computation"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._items = Counter(
            "elmokit_items_computed",
            "Sentences, or other items of requests, that were computed.",
            ["computation"],
            registry=self.registry,
        )

    def computed(self, name: str, *, tokens: int, items: int, seconds: float) -> None:
        """Count a batch."""
        self._batch_tokens.labels(name).observe(tokens)
        self._batch_seconds.labels(name).observe(seconds)
        self._items.labels(name).inc(items)

    def watch_queues(self, queues: Mapping[str, Batcher]) -> None:
        """Show the length of each device's queue whenever somebody looks."""
        requests = Gauge(
            "elmokit_queue_requests", "Requests that wait.", ["device"], registry=self.registry
        )
        tokens = Gauge(
            "elmokit_queue_tokens", "Tokens that wait.", ["device"], registry=self.registry
        )
        for device, queue in queues.items():
            requests.labels(device).set_function(partial(getattr, queue, "waiting_requests"))
            tokens.labels(device).set_function(partial(getattr, queue, "waiting_tokens"))

    def watch_words(self, counts: Callable[[], dict[str, tuple[int, int]]]) -> None:
        """Show hits and misses of each model's cache of words."""
        self.registry.register(_WordCounts(counts))

    def text(self) -> bytes:
        """Give all figures."""
        return generate_latest(self.registry)


class _WordCounts(Collector):
    def __init__(self, counts: Callable[[], dict[str, tuple[int, int]]]) -> None:
        self._counts = counts

    def collect(self) -> list[CounterMetricFamily]:
        """Give the counters."""
        found = CounterMetricFamily(
            "elmokit_word_cache",
            "Distinct words of batches whose vectors before context were known, or were not.",
            labels=["model", "outcome"],
        )
        for model, (hits, misses) in self._counts().items():
            found.add_metric([model, "hit"], hits)
            found.add_metric([model, "miss"], misses)
        return [found]
