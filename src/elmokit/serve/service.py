"""What a server has loaded, and the way of a request from the event loop to a device and back."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from elmokit.errors import InputError
from elmokit.serve.batcher import Batcher
from elmokit.serve.device_thread import DeviceThread
from elmokit.serve.limits import Limits
from elmokit.serve.metrics import Metrics
from elmokit.serve.problems import RequestError, shutting_down
from elmokit.serve.request_body import ClientGoneError
from elmokit.serve.served_model import ServedModel
from elmokit.serve.work import Work
from elmokit.version import __version__

# Below this the event loop does small things itself: a thread would cost more.
CHARACTERS_AT_ONCE = 20_000
NUMBERS_AT_ONCE = 20_000
HELPERS = 2

Made = TypeVar("Made")


class Service:
    """The models of a server and the thread that computes with them."""

    def __init__(self, models: Sequence[ServedModel], *, limits: Limits | None = None) -> None:
        if not models:
            raise InputError("models: expected at least one, found none")
        self.models = {model.name: model for model in models}
        if len(self.models) < len(models):
            names = [model.name for model in models]
            double = next(name for name in names if names.count(name) > 1)
            raise InputError(f"model: expected different names, found {double!r} twice")
        self.default = models[0]
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.draining = False
        self.accepted = 0
        """Requests that were accepted and are not answered yet."""
        self._batcher = Batcher(
            batch_tokens=self.limits.batch_tokens,
            queue_requests=self.limits.queue_requests,
            queue_tokens=self.limits.queue_tokens,
        )
        self._thread = DeviceThread(
            self._batcher, device=str(self.default.elmo.device), metrics=self.metrics
        )
        self._helpers = ThreadPoolExecutor(HELPERS, thread_name_prefix="elmo helper")
        self.metrics.watch_queue(
            lambda: self._batcher.waiting_requests, lambda: self._batcher.waiting_tokens
        )
        self.metrics.watch_words(self._word_counts)

    def start(self) -> None:
        """Prepare the models and begin to compute."""
        for model in self.models.values():
            model.prepare()
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end the thread."""
        self._batcher.close()
        self._thread.join()
        self._helpers.shutdown()

    def model(self, values: Mapping[str, Any]) -> ServedModel:
        """Find the model that a request names."""
        name = values.get("model")
        if name is None:
            return self.default
        if not isinstance(name, str) or name not in self.models:
            raise RequestError(
                404,
                f"model: there is no such model here; loaded are {', '.join(self.models)}",
                param="model",
                code="model_not_found",
            )
        return self.models[name]

    def capabilities(self) -> dict[str, Any]:
        """Give what the page asks first."""
        return {
            "model": self.default.name,
            "neighbours": False,
            "tasks": [],
            "limits": {
                "body_bytes": self.limits.body_bytes,
                "inputs": self.limits.inputs,
                "sentence_tokens": self.limits.sentence_tokens,
                "batch_tokens": self.limits.batch_tokens,
            },
            "version": __version__,
        }

    async def computed(self, request: Request, work: Work) -> list[Any]:
        """Have work done and give the results of its parts; stops when the client leaves."""
        if self.draining:
            raise shutting_down()
        try:
            self._batcher.submit(work)
        except RequestError as problem:
            self.metrics.refused.labels(problem.code or "queue_full").inc()
            raise
        left = asyncio.ensure_future(_until_left(request))
        try:
            await asyncio.wait({work.future, left}, return_when=asyncio.FIRST_COMPLETED)
            if work.future.done():
                return work.future.result()
            waited = self._batcher.cancel(work)
            self.metrics.cancelled.labels("waiting" if waited else "computing").inc()
            raise ClientGoneError
        finally:
            left.cancel()

    async def apart(self, function: Callable[[], Made], *, small: bool) -> Made:
        """Call a function, in another thread unless it is a ``small`` matter."""
        if small:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self._helpers, function)

    def _word_counts(self) -> dict[str, tuple[int, int]]:
        found = {}
        for name, model in self.models.items():
            words = model.elmo.embedder.word_vectors
            found[name] = (words.hits, words.misses)
        return found


async def _until_left(request: Request) -> None:
    """Wait until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
