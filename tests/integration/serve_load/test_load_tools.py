"""The judges of the load tests, on what they must condemn."""

import base64
import socket

import numpy as np
import pytest

from integration.serve_load.exchange import BrokenAnswerError, Reader
from integration.serve_load.load_plan import BROKEN, CLOSED, NEVER, REFUSED, Seen
from integration.serve_load.load_process import distance
from integration.serve_load.overload import Overloaded
from integration.serve_load.requests_file import Request
from integration.serve_load.soak import TOLERANCE, Soaked, answers_a_second
from integration.serve_load.termination import judged

RIGHT = np.array([[0.5, -1.0, 2.0]], dtype=np.float32)


def seen(*rows: tuple[float, float, int], difference: float = 0.0) -> Seen:
    """Requests by when they were sent and done, and how they ended."""
    sent, done, status = (np.array(column) for column in zip(*rows, strict=True))
    return Seen(
        due=sent,
        sent=sent,
        done=done,
        status=status,
        difference=np.where(status == 200, difference, np.nan),
        tokens=np.full(len(rows), 3),
        retry=np.full(len(rows), False),
    )


def embedding(vector: np.ndarray) -> bytes:
    text = base64.b64encode(vector.astype("<f4").tobytes())
    return b'{"data":[{"object":"embedding","index":0,"embedding":"%s"}]}' % text


def test_another_vector_is_seen() -> None:
    request = Request(b"", RIGHT, 3)
    assert distance(request, b"", embedding(RIGHT)) == 0
    assert distance(request, b"", embedding(RIGHT + 1e-4)) > TOLERANCE
    assert distance(request, b"", embedding(RIGHT[:, ::-1])) > TOLERANCE
    assert distance(request, b"", embedding(RIGHT[:, :2])) == float("inf")
    assert not distance(request, b"", embedding(RIGHT * np.nan)) <= TOLERANCE


@pytest.mark.parametrize(
    ("difference", "mixed"), [(0.0, 0), (9e-6, 0), (2e-5, 2), (np.inf, 2), (np.nan, 2)]
)
def test_wrong_vectors_count_as_mixed(difference: float, mixed: int) -> None:
    found = seen((0, 1, 200), (0, 1, 200), difference=difference)
    assert Soaked(1.0, found, [], 0).mixed == mixed


@pytest.mark.parametrize("status", [429, 500, 503, REFUSED, CLOSED, BROKEN, NEVER])
def test_everything_but_200_counts_as_lost(status: int) -> None:
    assert Soaked(1.0, seen((0, 1, 200), (0, 1, status)), [], 0).lost == 1


@pytest.mark.parametrize("status", [429, 503, REFUSED, CLOSED, BROKEN, NEVER])
def test_only_answers_count_for_the_capacity(status: int) -> None:
    """Five requests a second for ten seconds; the first two seconds are left out."""
    answers = [(0.2 * number, 0.2 * number + 0.1, 200) for number in range(51)]
    others = [(0.2 * number, 0.2 * number + 0.1, status) for number in range(51)]
    assert answers_a_second(seen(*answers)) == pytest.approx(5)
    assert answers_a_second(seen(*answers, *others)) == pytest.approx(5)


def test_growth_is_that_of_the_time_after_the_warm_up() -> None:
    memory = [(float(second), 100 if second < 10 else 200 + second // 50) for second in range(110)]
    assert Soaked(1.0, seen((0, 1, 200)), memory, 10.0).growth == pytest.approx(2 / 200, abs=0.003)


@pytest.mark.parametrize(
    ("status", "sent", "lost"),
    [
        (200, 0.5, 0),
        (503, 0.5, 0),
        (CLOSED, 0.5, 1),
        (BROKEN, 0.5, 1),
        (NEVER, 0.5, 1),
        (500, 0.5, 1),
        (503, 1.5, 0),
        (REFUSED, 1.5, 0),
        (CLOSED, 1.5, 0),
        (BROKEN, 1.5, 1),
        (500, 1.5, 1),
    ],
)
def test_requests_lost_by_a_signal(status: int, sent: float, lost: int) -> None:
    """The signal comes at 1.0; clients that come later may find the door closed."""
    found = judged(seen((sent, 2.0, status)), 0, asked=0.9, signalled=1.0, exit_code=0, seconds=1.0)
    assert found.lost == lost


def test_refusing_what_was_in_line_is_losing_it() -> None:
    found = seen((0.5, 2.0, 503), (0.5, 2.0, 503), (0.5, 2.0, 200))
    result = judged(found, 2, asked=0.9, signalled=1.0, exit_code=0, seconds=1.0)
    assert result.lost == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\n\r\nabc",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
    ],
)
def test_broken_answers_are_seen(sent: bytes) -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(sent)
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(BrokenAnswerError):
            Reader(here).answer()


def test_recovery_ends_with_the_trouble_that_the_overload_made() -> None:
    before = seen(*[(second, second + 0.1, 200) for second in range(10)])
    during = seen((10.5, 10.6, 429))
    after = seen(
        (20.2, 20.3, 429),  # refused
        (20.9, 21.5, 200),  # slow
        (21.0, 21.1, 200),
        (30.0, 30.1, 429),  # long after
        (31.0, 31.1, 200),
    )
    found = Overloaded(before, during, after, began=10.0, ended=20.0)
    assert found.recovery == pytest.approx(0.9)
    assert found.share_of_bad(before) == 0
    assert found.share_of_bad(after) == pytest.approx(0.6)
