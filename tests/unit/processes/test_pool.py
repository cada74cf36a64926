"""Questions and answers of child processes: order, size, errors, deaths and ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.errors import ElmoError, InputError
from elmokit.processes.pool import ProcessPool

PATIENCE = 60
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def start(count: int = 2) -> ProcessPool:
    return ProcessPool("calling_child", [[]] * count, advice="try patience")


def ask(pool: ProcessPool, function: Callable[..., object], *arguments: object) -> "Future[Any]":
    return pool.submit((function, arguments))


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with start() as pool:
        yield pool


def refuse(value: object) -> None:
    raise InputError(f"expected nothing, found {value!r}")


def divide(left: int, right: int) -> float:
    return left / right


def print_and_read() -> str:
    print("between the answers", flush=True)
    return sys.stdin.read()


def test_every_process_works_and_answers_come_to_who_asked(pool: ProcessPool) -> None:
    begun = [ask(pool, time.sleep, 0.5) for _ in pool.processes]  # one for each
    found = [ask(pool, divmod, number, 7) for number in range(50)]
    assert [future.result(PATIENCE) for future in found] == [divmod(n, 7) for n in range(50)]
    assert [future.result(PATIENCE) for future in begun] == [None, None]
    at_once = [ask(pool, _slow_pid) for _ in pool.processes]
    pids = {future.result(PATIENCE) for future in at_once}
    assert pids == {process.pid for process in pool.processes}


def _slow_pid() -> int:
    time.sleep(0.5)
    return os.getpid()


def test_questions_and_answers_may_be_larger_than_a_pipe(pool: ProcessPool) -> None:
    array = np.arange(3_000_000, dtype=np.float32)
    answers = [ask(pool, np.negative, array) for _ in range(4)]
    for answer in answers:
        np.testing.assert_array_equal(answer.result(PATIENCE), -array)


def test_what_work_prints_or_reads_is_not_between_the_answers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with start(1) as pool:
        assert ask(pool, print_and_read).result(PATIENCE) == ""
    assert capfd.readouterr() == ("", "between the answers\n")


def test_errors_are_raised_here_and_the_process_works_on(pool: ProcessPool) -> None:
    with pytest.raises(InputError, match="expected nothing, found 3") as refused:
        ask(pool, refuse, 3).result(PATIENCE)
    assert not hasattr(refused.value, "__notes__")
    with pytest.raises(ZeroDivisionError) as divided:
        ask(pool, divide, 1, 0).result(PATIENCE)
    (note,) = divided.value.__notes__
    assert note.startswith("In a worker process:\n")
    assert "in divide" in note
    assert ask(pool, divide, 1, 2).result(PATIENCE) == 0.5


@needs_signals
def test_a_process_that_was_killed_is_an_error_for_all_that_ask(pool: ProcessPool) -> None:
    for process in pool.processes:
        process.kill()
    for answer in [ask(pool, os.getpid) for _ in range(6)]:
        with pytest.raises(ElmoError, match=r"was ended by SIGKILL, .*; try patience"):
            answer.result(PATIENCE)


def test_a_process_that_leaves_is_an_error_with_its_code(pool: ProcessPool) -> None:
    with pytest.raises(ElmoError, match="ended with code 3"):
        ask(pool, os._exit, 3).result(PATIENCE)


def test_a_module_that_cannot_be_run_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        ProcessPool("no_such_module", [[]], advice="") as pool,
        pytest.raises(ElmoError, match="ended with code 1"),
    ):
        ask(pool, os.getpid).result(PATIENCE)
    assert "No module named no_such_module" in capfd.readouterr().err


def test_closing_does_not_wait_for_work(pool: ProcessPool) -> None:
    """Neither for work that is done, nor for a question that nobody takes any more."""
    much = b"." * 10_000_000
    answers = [ask(pool, time.sleep, 1000) for _ in pool.processes]
    answers += [ask(pool, len, much) for _ in pool.processes]
    time.sleep(0.2)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < PATIENCE
    assert all(answer.done() for answer in answers)
    assert all(process.returncode is not None for process in pool.processes)
    pool.close()  # nothing more to do


@pytest.mark.parametrize("wait", [0, 0.02, 0.1])
def test_closing_while_questions_are_sent_to_processes_that_start(wait: float) -> None:
    with start() as pool:
        answers = [ask(pool, len, b"." * 10_000_000) for _ in range(6)]
        time.sleep(wait)
    for answer in answers:
        assert answer.cancelled() or isinstance(answer.exception(), ElmoError) or answer.result()


def test_processes_end_with_the_pool_that_nobody_closed() -> None:
    pool = start()
    processes = pool.processes
    assert ask(pool, divide, 1, 2).result(PATIENCE) == 0.5
    del pool
    assert all(process.returncode is not None for process in processes)


@needs_signals
def test_processes_that_have_hardly_begun_leave_ctrl_c_to_their_parent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with start() as pool:
        for process in pool.processes:
            process.send_signal(signal.SIGINT)
        answers = [ask(pool, divide, number, 2) for number in range(4)]
        assert [answer.result(PATIENCE) for answer in answers] == [0, 0.5, 1, 1.5]
        for process in pool.processes:
            process.send_signal(signal.SIGINT)
        assert ask(pool, divide, 1, 2).result(PATIENCE) == 0.5
    assert capfd.readouterr().err == ""


@needs_signals
def test_an_interruption_while_processes_start_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def start_and_interrupt(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*arguments, **options))
        if len(started) == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert started
    assert {process.returncode for process in started} == {-signal.SIGKILL}


def test_processes_do_not_import_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(start(1)) as pool:
        assert ask(pool, divide, 1, 2).result(PATIENCE) == 0.5
