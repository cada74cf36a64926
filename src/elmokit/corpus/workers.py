"""Spilling blocks in several processes, with results in the order of the blocks.

Workers are plain child processes that speak over pipes. They start clean, whatever the caller has
loaded or started, need no guard in the caller's script, and end when the caller does.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from elmokit.child_processes import deaf_to_interruption
from elmokit.corpus.blocks import Block
from elmokit.corpus.spill import Spill, SpillTask, spill
from elmokit.errors import ElmoError

Result = tuple[tuple[Block, ...], Spill]

# With less text than this, starting processes takes longer than doing the work.
_ENOUGH_BYTES = 2**21
_ENOUGH_TASKS = 100


def spill_in_order(tasks: Iterable[SpillTask], *, processes: int) -> Generator[Result, None, None]:
    """Work through tasks; results come with the blocks they are of, whose text is gone by then.

    Tasks are taken only a few ahead of the results, so that memory stays bounded.
    """
    stream = iter(tasks)
    if processes > 1:
        first = _enough(stream)
        stream = chain(first, stream)
        if not first or (_size(first) < _ENOUGH_BYTES and len(first) < _ENOUGH_TASKS):
            processes = 1
    if processes == 1:
        for task in stream:
            yield _described(task), spill(task)
        return
    with _Workers(processes) as workers:
        waiting: deque[tuple[tuple[Block, ...], Future[Spill]]] = deque()
        for task in stream:
            waiting.append((_described(task), workers.submit(task)))
            if len(waiting) > processes + 1:
                blocks, future = waiting.popleft()
                yield blocks, future.result()
        for blocks, future in waiting:
            yield blocks, future.result()


def _enough(tasks: Iterator[SpillTask]) -> list[SpillTask]:
    """Take tasks until there is enough work for several processes, or no more."""
    taken: list[SpillTask] = []
    for task in tasks:
        taken.append(task)
        if _size(taken) >= _ENOUGH_BYTES or len(taken) >= _ENOUGH_TASKS:
            break
    return taken


def _size(tasks: Iterable[SpillTask]) -> int:
    return sum(len(block.data) for task in tasks for block in task.blocks)


def _described(task: SpillTask) -> tuple[Block, ...]:
    return tuple(replace(block, data=b"") for block in task.blocks)


class _Workers:
    """Child processes, and a thread for each that waits for its answers."""

    def __init__(self, count: int) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(count)
        self._count = count

    def __enter__(self) -> "_Workers":
        # -P: the caller's working directory is no place to import from.
        command = [sys.executable, "-P", "-m", "elmokit.corpus.worker"]
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        for _ in range(self._count):
            with deaf_to_interruption():
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path},
                )
            self._processes.append(process)
            self._idle.put(process)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):  # what was left in it nobody reads now
                    pipe.close()

    def submit(self, task: SpillTask) -> "Future[Spill]":
        return self._threads.submit(self._ask, task)

    def _ask(self, task: SpillTask) -> Spill:
        process = self._idle.get()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(task, process.stdin, protocol=5)
            process.stdin.flush()
            answer: Any = pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            raise _death(process) from error
        finally:
            self._idle.put(process)  # a dead one too, so that nobody waits for it
        if isinstance(answer, Spill):
            return answer
        raise answer


def _death(process: "subprocess.Popen[bytes]") -> ElmoError:
    code = process.wait()
    how = f"ended with code {code}"
    if code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    return ElmoError(
        f"a worker process {how}, perhaps because memory ran out; "
        "try fewer processes (processes, --processes in the shell)"
    )
