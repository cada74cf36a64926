"""Child processes that are asked over pipes, and answer.

Each runs a module from a clean start, whatever the caller has loaded or started, so that a caller's
script needs no guard. They leave Ctrl-C, which reaches all of a terminal, to the caller, and end
when it does.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

from elmokit.errors import ElmoError


class ProcessPool:
    """Processes that run ``python -m MODULE ARGUMENT...``, and a thread for each that waits for it.

    There is one process for each list of arguments. The module passes what it does with a question
    to `answer_questions`. ``advice`` says what to do where a process died.
    """

    def __init__(self, module: str, arguments: Sequence[Sequence[str]], *, advice: str) -> None:
        children = _Children()
        self.processes = children.processes
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(len(arguments))
        self._advice = advice
        # Also where nobody closes, at the end of the program.
        self._end = weakref.finalize(self, _end, children, self._threads)
        try:
            # An interruption meets the main thread alone: it cannot come between the start of a
            # process and our knowing it.
            with ThreadPoolExecutor(1) as starter:
                starter.submit(children.start, module, arguments).result()
        except BaseException:
            self.close()
            raise
        for process in self.processes:
            self._idle.put(process)

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, question: object) -> "Future[Any]":
        """Ask the first process that is idle."""
        return self._threads.submit(self._ask, question)

    def close(self) -> None:
        """End the processes, whatever they do."""
        self._end()

    def _ask(self, question: object) -> Any:
        process = self._idle.get()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(question, process.stdin, protocol=5)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            raise self._death(process) from error
        finally:
            self._idle.put(process)  # a dead one too, so that nobody waits for it
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _death(self, process: "subprocess.Popen[bytes]") -> ElmoError:
        code = process.wait()
        how = f"ended with code {code}"
        if code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        return ElmoError(f"a worker process {how}, perhaps because memory ran out; {self._advice}")


class _Children:
    """Processes of which none is started any more once they were killed."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()
        self._killed = False

    def start(self, module: str, arguments: Sequence[Sequence[str]]) -> None:
        if hasattr(signal, "pthread_sigmask"):  # children are as deaf to Ctrl-C as this thread
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        for own in arguments:
            with self._lock:
                if self._killed:
                    return
                process = subprocess.Popen(
                    # -P: the caller's working directory is no place to import from.
                    [sys.executable, "-P", "-m", module, *own],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path},
                )
                self.processes.append(process)

    def kill(self) -> None:
        with self._lock:
            self._killed = True
        for process in self.processes:
            process.kill()

    def wait(self) -> None:
        for process in self.processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):  # what was left in it nobody reads now
                    pipe.close()


def _end(children: _Children, threads: ThreadPoolExecutor) -> None:
    children.kill()
    threads.shutdown(cancel_futures=True)  # those that wait for the dead see the ends of pipes
    children.wait()
