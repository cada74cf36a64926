"""Child processes that are asked over pipes, and answer.

Each runs a module from a clean start, whatever the caller has loaded or started, so that a caller's
script needs no guard. They leave Ctrl-C, which reaches all of a terminal, to the caller, and end
when it does. Nothing here waits at a lock that an interruption may have left closed: an executor's
threads and a Condition can be caught so, and then the program never ends.
"""

import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import RLock, Thread, current_thread
from typing import Any

from elmokit.errors import ElmoError

# On some systems a signal is noticed only when waiting ends.
SECONDS_BETWEEN_LOOKS = 1.0
# The process of each is dead by then, so that it needs no time but its turn.
SECONDS_FOR_A_THREAD = 1.0

Process = subprocess.Popen[bytes]
# The place of a question among those of its call, and what was answered: an exception to be raised,
# or a value.
Answers = SimpleQueue[tuple[int, Any]]


@dataclass(frozen=True)
class _Question:
    value: Any
    number: int
    answers: Answers


class ProcessPool:
    """Processes that run ``python -m MODULE ARGUMENT...``, and a thread for each that speaks to it.

    There is at most one process for each list of arguments; it is started when there is something
    to ask. The module passes what it does with a question to `answer_questions`. ``advice`` says
    what to do where a process died.
    """

    def __init__(self, module: str, arguments: Sequence[Sequence[str]], *, advice: str) -> None:
        self._children = _Children(advice)
        self.processes = self._children.processes
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        threads: list[Thread] = []
        # Also where nobody closes, at the end of the program.
        self._end = weakref.finalize(self, _end, self._children, self._questions, threads)
        for own in arguments:
            # -P: the caller's working directory is no place to import from.
            command = [sys.executable, "-P", "-m", module, *own]
            thread = Thread(
                target=_speak,
                args=(self._children, command, self._questions),
                name="elmokit-process",
                daemon=True,
            )
            thread.start()
            threads.append(thread)

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, questions: Iterable[object], *, ahead: int) -> Iterator[Any]:
        """Give the answers in the order of the questions, of which ``ahead`` more may be asked.

        An error of a process is raised in the place of its answer. What was asked is computed even
        if nobody wants it any more, unless the pool is closed.
        """
        answers: Answers = SimpleQueue()
        arrived: dict[int, Any] = {}
        asked = given = 0
        for question in questions:
            self._questions.put(_Question(question, asked, answers))
            asked += 1
            if asked - given > ahead:
                yield self._taken(given, arrived, answers)
                given += 1
        while given < asked:
            yield self._taken(given, arrived, answers)
            given += 1

    def close(self) -> None:
        """End the processes, whatever they do."""
        self._end()

    def _taken(self, number: int, arrived: dict[int, Any], answers: Answers) -> Any:
        while number not in arrived:
            try:
                place, answer = answers.get(timeout=SECONDS_BETWEEN_LOOKS)
            except Empty:
                if self._children.killed:
                    raise _closed() from None
            else:
                arrived[place] = answer
        answer = arrived.pop(number)
        if isinstance(answer, Exception):
            raise answer
        return answer


class _Children:
    """Processes of which none is started any more once they were killed."""

    def __init__(self, advice: str) -> None:
        self.processes: list[Process] = []
        self.killed = False
        self._advice = advice
        self._lock = RLock()  # garbage, and so a pool, may be collected while it is held

    def start(self, command: Sequence[str]) -> Process:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        with self._lock:
            if self.killed:
                raise _closed()
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
            self.processes.append(process)
        return process

    def ask(self, process: Process, question: object) -> Any:
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(question, process.stdin, protocol=5)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            raise self._death(process) from error

    def kill(self) -> None:
        with self._lock:
            self.killed = True
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def _death(self, process: Process) -> ElmoError:
        code = process.wait()
        if self.killed:
            return _closed()
        how = f"ended with code {code}"
        if code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        return ElmoError(f"a worker process {how}, perhaps because memory ran out; {self._advice}")


def _closed() -> ElmoError:
    return ElmoError(
        "the worker processes have been ended, perhaps by a call that shared them and was left "
        "before its end; call again"
    )


def _end(
    children: _Children, questions: "SimpleQueue[_Question | None]", threads: list[Thread]
) -> None:
    children.kill()
    for _ in threads:
        questions.put(None)
    for thread in threads:
        if thread is not current_thread():  # garbage is collected in any
            thread.join(SECONDS_FOR_A_THREAD)


def _speak(
    children: _Children, command: Sequence[str], questions: "SimpleQueue[_Question | None]"
) -> None:
    """Pass questions to a process of our own, until there are no more."""
    if hasattr(signal, "pthread_sigmask"):  # a child is as deaf to Ctrl-C as the thread it is from
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    process: Process | None = None
    while question := questions.get():
        try:
            process = process or children.start(command)
            answer = children.ask(process, question.value)
        except Exception as error:
            answer = error
        question.answers.put((question.number, answer))
        del question, answer  # nobody else may hold them by now
    if process is not None:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # what was left in it nobody reads now
                pipe.close()
