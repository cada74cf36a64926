"""The same model in several processes, on several devices or on the cores of one machine."""

import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

import torch

from elmokit.child_processes import deaf_to_interruption
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
        self.devices = ()  # nobody shall take them up again
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def kill(self) -> None:
        """End the processes in the middle of what they do."""
        # A window that was being sent to workers that still started is taken by nobody: the pool's
        # thread would wait for the sending for ever.
        windows: Any = self._pool._call_queue
        if windows is not None:
            windows.cancel_join_thread()
        processes = list((self._pool._processes or {}).values())
        for process in processes:
            process.kill()
        for process in processes:
            wait([process.sentinel])
        # A result that was being sent has no end: the pool's thread would wait for the rest of it
        # for ever, unless the last writing end of that pipe, its own, is closed.
        results: Any = self._pool._result_queue
        if results is not None:
            results._writer.close()
        self.close()

    def embed(
        self, windows: Iterable[list[list[str]]], *, layers: Layers, batch_tokens: int
    ) -> Iterator[list[Vectors]]:
        """Give the arrays of each window, in order; who leaves before the end ends the processes.

        They would compute what nobody wants, and the program could not end before that.
        """
        devices = self.devices
        waiting: deque[Future[list[Vectors]]] = deque()
        done = False
        try:
            for window in windows:
                with deaf_to_interruption():
                    waiting.append(self._pool.submit(_embed, window, layers, batch_tokens))
                if len(waiting) > WINDOWS_AHEAD * len(devices):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            done = True
        except BrokenProcessPool as error:
            raise ElmoError(
                "a worker process died, perhaps for lack of memory, or because the program that "
                'calls is not guarded by if __name__ == "__main__"; use fewer workers'
            ) from error
        finally:
            if not done:
                self.kill()


_state: dict[str, Any] = {}


def _begin(model: Path, devices: "SimpleQueue[str]", dtype: str, start: Any, threads: int) -> None:
    from elmokit.embed.load import load

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked before
    Thread(target=_end_with_the_parent, daemon=True).start()
    torch.set_num_threads(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program has been told already
        _state["elmo"] = load(model, device=devices.get(), dtype=dtype, start=start)


def _embed(window: list[list[str]], layers: Layers, batch_tokens: int) -> list[Vectors]:
    found: list[Vectors] = _state["elmo"].embed(window, layers=layers, batch_tokens=batch_tokens)
    return found


def _end_with_the_parent() -> None:
    """Leave when the parent has been killed; else its workers would wait for it for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
