"""The same model in several processes, on several devices or on the cores of one machine."""

import multiprocessing
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch

from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.errors import ElmoError

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo

# Windows that wait for each process, so that none waits for the reader.
WINDOWS_AHEAD = 2


class Workers:
    """Processes that hold a copy of a model each; they end with this object or the program."""

    def __init__(self, elmo: "Elmo", devices: Sequence[str]) -> None:
        self.devices = tuple(devices)
        # Through files, which processes map into memory once for all of them.
        self._folder = TemporaryDirectory(prefix="elmokit-")
        model = Path(self._folder.name) / "model"
        elmo.save(model)
        context = multiprocessing.get_context("spawn")
        queue: SimpleQueue[str] = context.SimpleQueue()
        for device in self.devices:
            queue.put(device)
        threads = max(1, torch.get_num_threads() // len(self.devices))
        self._pool = ProcessPoolExecutor(
            len(self.devices),
            mp_context=context,
            initializer=_begin,
            initargs=(model, queue, elmo.dtype, elmo.start, threads),
        )

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def embed(
        self, windows: Iterable[list[list[str]]], *, layers: Layers, batch_tokens: int
    ) -> Iterator[list[Vectors]]:
        """Give the arrays of each window, in order."""
        waiting: deque[Future[list[Vectors]]] = deque()
        try:
            for window in windows:
                waiting.append(self._pool.submit(_embed, window, layers, batch_tokens))
                if len(waiting) > WINDOWS_AHEAD * len(self.devices):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise ElmoError(
                "a worker process died, perhaps for lack of memory, or because the program that "
                'calls is not guarded by if __name__ == "__main__"; use fewer workers'
            ) from error
        finally:
            for future in waiting:
                future.cancel()


_state: dict[str, Any] = {}


def _begin(model: Path, devices: "SimpleQueue[str]", dtype: str, start: Any, threads: int) -> None:
    from elmokit.embed.load import load

    torch.set_num_threads(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program has been told already
        _state["elmo"] = load(model, device=devices.get(), dtype=dtype, start=start)


def _embed(window: list[list[str]], layers: Layers, batch_tokens: int) -> list[Vectors]:
    found: list[Vectors] = _state["elmo"].embed(window, layers=layers, batch_tokens=batch_tokens)
    return found
