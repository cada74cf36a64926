"""Questions and answers of child processes: order, size, errors, deaths and ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.errors import ElmoError, InputError
from elmokit.processes.pool import ProcessPool

PATIENCE = 60
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def start(count: int = 2) -> ProcessPool:
    return ProcessPool("calling_child", [[]] * count, advice="try patience")


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with start() as pool:
        yield pool


def call(pool: ProcessPool, function: Callable[..., object], *arguments: object) -> Any:
    (answer,) = pool.ask([(function, arguments)], ahead=0)
    return answer


def slow_pid() -> int:
    time.sleep(0.5)
    return os.getpid()


def sleep_and_double(seconds: float, number: int) -> int:
    time.sleep(seconds)
    return 2 * number


def refuse(value: object) -> None:
    raise InputError(f"expected nothing, found {value!r}")


def divide(left: int, right: int) -> float:
    return left / right


def print_and_read() -> str:
    print("between the answers", flush=True)
    return sys.stdin.read()


def test_answers_come_in_order_and_all_processes_work(pool: ProcessPool) -> None:
    """The first of each pair takes longer, so that the second overtakes it."""
    questions = [(sleep_and_double, (0.05 * (n % 2 == 0), n)) for n in range(20)]
    assert list(pool.ask(questions, ahead=4)) == [2 * n for n in range(20)]
    pids = set(pool.ask([(slow_pid, ())] * 2, ahead=2))
    assert pids == {process.pid for process in pool.processes}
    assert len(pids) == 2


def test_questions_are_taken_only_a_few_ahead(pool: ProcessPool) -> None:
    taken: list[int] = []

    def questions() -> Iterator[object]:
        for number in range(20):
            taken.append(number)
            yield divide, (number, 1)

    for number, answer in enumerate(pool.ask(questions(), ahead=3)):
        assert answer == number
        assert len(taken) == min(number + 4, 20)
    assert list(pool.ask([], ahead=3)) == []


def test_calls_may_share_the_processes(pool: ProcessPool) -> None:
    halves = pool.ask([(divide, (n, 2)) for n in range(9)], ahead=2)
    thirds = pool.ask([(divide, (n, 3)) for n in range(9)], ahead=2)
    assert list(zip(halves, thirds, strict=True)) == [(n / 2, n / 3) for n in range(9)]


def test_no_process_is_started_for_nothing(pool: ProcessPool) -> None:
    assert pool.processes == []
    assert call(pool, divide, 1, 2) == 0.5
    assert len(pool.processes) == 1


def test_questions_and_answers_may_be_larger_than_a_pipe(pool: ProcessPool) -> None:
    array = np.arange(3_000_000, dtype=np.float32)
    for answer in pool.ask([(np.negative, (array,))] * 4, ahead=3):
        np.testing.assert_array_equal(answer, -array)


def test_what_work_prints_or_reads_is_not_between_the_answers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with start(1) as pool:
        assert call(pool, print_and_read) == ""
    assert capfd.readouterr() == ("", "between the answers\n")


def test_errors_are_raised_here_and_the_process_works_on(pool: ProcessPool) -> None:
    with pytest.raises(InputError, match="expected nothing, found 3") as refused:
        call(pool, refuse, 3)
    assert not hasattr(refused.value, "__notes__")
    with pytest.raises(ZeroDivisionError) as divided:
        call(pool, divide, 1, 0)
    (note,) = divided.value.__notes__
    assert note.startswith("In a worker process:\n")
    assert "in divide" in note
    assert call(pool, divide, 1, 2) == 0.5


@needs_signals
def test_processes_that_were_killed_are_an_error_for_all_that_ask(pool: ProcessPool) -> None:
    list(pool.ask([(slow_pid, ())] * 2, ahead=2))
    for process in pool.processes:
        process.kill()
    for _ in range(4):
        with pytest.raises(ElmoError, match=r"was ended by SIGKILL, .*; try patience"):
            call(pool, os.getpid)


def test_a_process_that_leaves_is_an_error_with_its_code(pool: ProcessPool) -> None:
    with pytest.raises(ElmoError, match="ended with code 3"):
        call(pool, os._exit, 3)


def test_a_module_that_cannot_be_run_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        ProcessPool("no_such_module", [[]], advice="") as pool,
        pytest.raises(ElmoError, match="ended with code 1"),
    ):
        call(pool, os.getpid)
    assert "No module named no_such_module" in capfd.readouterr().err


def test_a_process_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", fail)
    with start() as pool, pytest.raises(BlockingIOError, match="temporarily unavailable"):
        call(pool, os.getpid)


@pytest.mark.parametrize("wait", [0, 0.02, 0.1, 0.5])
def test_closing_waits_for_nothing(pool: ProcessPool, wait: float) -> None:
    """Neither for work, nor for questions on their way to processes that start."""
    questions = [(time.sleep, (1000,)), *[(len, (b"." * 10_000_000,))] * 6]
    answers = pool.ask(questions, ahead=6)
    thread = threading.Timer(wait, pool.close)
    started = time.monotonic()
    thread.start()
    with pytest.raises(ElmoError, match="have been ended"):
        next(answers)
    thread.join()
    assert time.monotonic() - started < PATIENCE
    assert all(process.returncode is not None for process in pool.processes)
    pool.close()  # nothing more to do
    with pytest.raises(ElmoError, match="have been ended"):
        call(pool, divide, 1, 2)


def test_processes_end_with_the_pool_that_nobody_closed() -> None:
    pool = start()
    processes = pool.processes
    assert call(pool, divide, 1, 2) == 0.5
    del pool
    assert [process.returncode is None for process in processes] == [False]


@needs_signals
def test_processes_leave_ctrl_c_to_their_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with start() as pool:
        answers = pool.ask([(sleep_and_double, (0.5, n)) for n in range(4)], ahead=4)
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.extend(answers))
        thread.start()
        while thread.is_alive():  # from their first moment to their last
            for process in pool.processes:
                process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        assert found == [0, 2, 4, 6]
    assert capfd.readouterr().err == ""


@needs_signals
@pytest.mark.parametrize("wait", [0, 0.001, 0.01, 0.1, 0.5])
def test_an_interruption_leaves_no_process(wait: float) -> None:
    pool = start()
    thread = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), pool:
        thread.start()
        list(pool.ask([(sleep_and_double, (0.1, n)) for n in range(1000)], ahead=3))
    thread.join()
    assert {process.returncode for process in pool.processes} <= {-signal.SIGKILL}


def test_processes_do_not_import_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with start(1) as pool:
        assert call(pool, divide, 1, 2) == 0.5
