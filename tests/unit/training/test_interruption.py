"""Signals as wishes."""

import os
import signal
import threading

import pytest

from elmokit.training.interruption import stop_wish


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_wish(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_wish() as wish:
        assert not wish.stop
        os.kill(os.getpid(), number)
        assert wish.stop
    assert signal.getsignal(number) is before


def test_a_later_signal_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10.0
    monkeypatch.setattr("elmokit.training.interruption.time.monotonic", lambda: now)
    with stop_wish() as wish:
        os.kill(os.getpid(), signal.SIGINT)
        now += 0.5  # torchrun passes on what the terminal has sent already
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert wish.stop
        now += 2
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError), stop_wish():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_of_the_main_thread_nothing_is_handled() -> None:
    found: list[bool] = []

    def run() -> None:
        with stop_wish() as wish:
            found.append(wish.stop)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
