"""What a server has loaded, and the way of a request from the event loop to a device and back."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from elmokit.analysis.context_index import ContextIndex
from elmokit.errors import InputError
from elmokit.serve.embedding import Wanted
from elmokit.serve.lane import Lane
from elmokit.serve.limits import Limits
from elmokit.serve.metrics import Metrics
from elmokit.serve.passing_thread import in_passing_thread
from elmokit.serve.predicting import Predicting
from elmokit.serve.problems import RequestError, shutting_down
from elmokit.serve.request_body import ClientGoneError
from elmokit.serve.searching import Searching
from elmokit.serve.served_model import ServedModel
from elmokit.serve.work import Computation, Work
from elmokit.tasks.predictor import Predictor
from elmokit.version import __version__

# Below this the event loop does small things itself: a thread would cost more.
CHARACTERS_AT_ONCE = 20_000
NUMBERS_AT_ONCE = 20_000
HELPERS = 2

Made = TypeVar("Made")


class Service:
    """The models of a server and the threads that compute with them."""

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        index: ContextIndex | None = None,
        tasks: Mapping[str, Predictor] | None = None,
        limits: Limits | None = None,
    ) -> None:
        if not models:
            raise InputError("models: expected at least one, found none")
        names = [model.name for model in models]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"model: expected different names, found {name!r} twice; NAME=FOLDER gives "
                    "another"
                )
        self.models = dict(zip(names, models, strict=True))
        self.default = models[0]
        self.searching = None if index is None else Searching(index)
        self.tasks = {name: Predicting(one, name=name) for name, one in (tasks or {}).items()}
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.draining = False
        """Whether the server is about to end and takes no more requests."""
        self._lanes: dict[str, Lane] = {}
        for computation in self._computations():
            if computation.device not in self._lanes:
                self._lanes[computation.device] = Lane(
                    computation.device, limits=self.limits, metrics=self.metrics
                )
        self._helpers = ThreadPoolExecutor(HELPERS, thread_name_prefix="elmo helper")
        self.metrics.watch_queues({name: lane.batcher for name, lane in self._lanes.items()})
        self.metrics.watch_words(self._word_counts)

    def start(self) -> None:
        """Prepare the models and begin to compute."""
        in_passing_thread(self._prepare)
        for lane in self._lanes.values():
            lane.start()

    def _prepare(self) -> None:
        for model in reversed(self.models.values()):  # so that the first is what counts
            model.prepare()
            wanted = Wanted(model.layer_choice("average"))
            self._lanes[model.embedding.device].measure(model.embedding, wanted)
        for task in self.tasks.values():
            task.prepare()

    def stop(self) -> None:
        """Finish what waits, and end the threads."""
        for lane in self._lanes.values():
            lane.stop()
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
            "neighbours": self.searching is not None,
            "tasks": list(self.tasks),
            "limits": {
                "body_bytes": self.limits.body_bytes,
                "inputs": self.limits.inputs,
                "sentence_tokens": self.limits.sentence_tokens,
                "request_tokens": self.limits.request_tokens,
                "batch_tokens": self.limits.batch_tokens,
            },
            "version": __version__,
        }

    def no_room(self) -> RequestError | None:
        """Give the error with which requests are refused while every line is full."""
        problem = None
        for lane in self._lanes.values():
            problem = lane.batcher.no_room()
            if problem is None:
                return None
        return problem

    async def computed(self, request: Request, work: Work) -> list[Any]:
        """Have work done and give the results of its parts; stops when the client leaves."""
        if self.draining:
            raise shutting_down()
        batcher = self._lanes[work.computation.device].batcher
        batcher.submit(work)
        left = asyncio.ensure_future(_until_left(request))
        try:
            either: set[asyncio.Future[Any]] = {work.future, left}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if work.future.done():
                return work.future.result()
            waited = batcher.cancel(work)
            self.metrics.cancelled.labels("waiting" if waited else "computing").inc()
            raise ClientGoneError
        finally:
            left.cancel()

    async def apart(self, function: Callable[[], Made], *, small: bool) -> Made:
        """Call a function, in another thread unless it is a ``small`` matter."""
        if small:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self._helpers, function)

    def _computations(self) -> list[Computation]:
        found: list[Computation] = [model.embedding for model in self.models.values()]
        if self.searching is not None:
            found.append(self.searching)
        return [*found, *self.tasks.values()]

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
