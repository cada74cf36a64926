"""Reading ahead and writing behind: in order, within bounds, and gone at the end."""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from elmokit.embed.overlap import reading_ahead, writing_behind

PATIENCE = 30  # seconds until something counts as hanging
A_WHILE = 0.1  # seconds in which nothing may happen


def one(_: object) -> int:
    return 1


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    wait_until(lambda: threading.active_count() == before)


class Source:
    """Gives numbers, and knows how many it has given and whether it was closed."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.given = 0
        self.thread: Thread | None = None
        self.closed = Event()

    def __call__(self) -> Generator[int, None, None]:
        try:
            for number in range(self._count):
                self.given += 1
                yield number
        finally:
            self.thread = threading.current_thread()
            self.closed.set()


def test_items_come_in_order() -> None:
    with reading_ahead(Source(1000)(), weigh=one, most=7) as items:
        assert list(items) == list(range(1000))


def test_the_source_runs_before_anything_is_asked_for() -> None:
    source = Source(5)
    with reading_ahead(source(), weigh=one, most=100) as items:
        assert source.closed.wait(PATIENCE)
        assert list(items) == [0, 1, 2, 3, 4]


def test_the_source_runs_no_further_ahead_than_it_may() -> None:
    source = Source(100)
    with reading_ahead(source(), weigh=one, most=10) as items:
        wait_until(lambda: source.given == 11)  # the last of them waits for its place
        time.sleep(A_WHILE)
        assert source.given == 11
        assert next(items) == 0
        wait_until(lambda: source.given == 12)
        time.sleep(A_WHILE)
        assert source.given == 12


def test_heavy_items_count_for_more_and_the_heaviest_go_alone() -> None:
    source = Source(4)
    weights = [3, 6, 2, 50]
    with reading_ahead(source(), weigh=weights.__getitem__, most=10) as items:
        wait_until(lambda: source.given == 3)  # 3 + 6 have a place
        time.sleep(A_WHILE)
        assert source.given == 3
        assert list(items) == [0, 1, 2, 3]


def test_what_has_come_is_not_kept_for_what_is_still_to_come() -> None:
    more = Event()

    def dribble() -> Generator[str, None, None]:
        yield "first"
        assert more.wait(PATIENCE)
        yield "second"

    with reading_ahead(dribble(), weigh=one, most=100) as items:
        assert next(items) == "first"
        more.set()
        assert list(items) == ["second"]


def test_an_error_comes_in_its_place() -> None:
    def fail() -> Generator[int, None, None]:
        yield 1
        yield 2
        raise ValueError("at line 3")

    found = []
    with (
        pytest.raises(ValueError, match=r"^at line 3$"),
        reading_ahead(fail(), weigh=one, most=100) as items,
    ):
        for item in items:
            found.append(item)
    assert found == [1, 2]


def test_a_reader_that_is_left_closes_its_source_itself() -> None:
    source = Source(100)
    with reading_ahead(source(), weigh=one, most=10) as items:
        assert next(items) == 0
    assert source.closed.wait(PATIENCE)
    assert source.given <= 12
    assert source.thread is not threading.current_thread()


def test_a_reader_that_waits_for_ever_keeps_nobody() -> None:
    awake = Event()

    def silent() -> Generator[int, None, None]:
        yield 1
        awake.wait()

    with (
        pytest.raises(KeyboardInterrupt),
        reading_ahead(silent(), weigh=one, most=100) as items,
    ):
        assert next(items) == 1
        raise KeyboardInterrupt
    (reader,) = (thread for thread in threading.enumerate() if thread.name == "elmokit-reader")
    assert reader.daemon
    awake.set()


def test_all_is_written_in_order_at_the_end() -> None:
    written: list[int] = []
    with writing_behind(written.append, weigh=one, most=7) as put:
        for number in range(1000):
            put(number)
    assert written == list(range(1000))


def test_the_caller_goes_on_while_the_writer_is_busy() -> None:
    written: list[int] = []
    go_on = Event()

    def write(number: int) -> None:
        assert go_on.wait(PATIENCE)
        written.append(number)

    with writing_behind(write, weigh=one, most=10) as put:
        for number in range(10):
            put(number)
        assert written == []
        go_on.set()
    assert written == list(range(10))


def test_the_caller_runs_no_further_ahead_than_it_may() -> None:
    taken: list[int] = []
    go_on = Event()

    def compute(put: Callable[[int], None]) -> None:
        for number in range(50):
            put(number)
            taken.append(number)

    with writing_behind(lambda _: (go_on.wait(PATIENCE), None)[1], weigh=one, most=10) as put:
        computing = Thread(target=compute, args=(put,))
        computing.start()
        wait_until(lambda: len(taken) == 11)  # one is being written
        time.sleep(A_WHILE)
        assert len(taken) == 11
        go_on.set()
        computing.join(PATIENCE)
    assert len(taken) == 50


@contextmanager
def failing_at(number: int, written: list[int]) -> Iterator[Callable[[int], None]]:
    def write(item: int) -> None:
        if item == number:
            raise OSError(28, "No space left on device")
        written.append(item)

    with writing_behind(write, weigh=one, most=3) as put:
        yield put


@pytest.mark.parametrize("count", [6, 100], ids=["at the end", "while the caller waits"])
def test_an_error_of_the_writer_comes_once_and_ends_writing(count: int) -> None:
    written: list[int] = []
    with pytest.raises(OSError, match="No space left") as caught, failing_at(5, written) as put:
        for number in range(count):
            put(number)
    assert written == [0, 1, 2, 3, 4]
    assert caught.value.__context__ is None


def test_an_error_of_the_caller_drops_what_waits() -> None:
    written: list[int] = []
    begun, go_on = Event(), Event()

    def write(number: int) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        written.append(number)

    def fail() -> None:
        with writing_behind(write, weigh=one, most=100) as put:
            for number in range(50):
                put(number)
            assert begun.wait(PATIENCE)
            threading.Timer(A_WHILE, go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert written == [0]


def test_errors_on_both_sides_are_one_error() -> None:
    def fail() -> None:
        with failing_at(0, []) as put:
            put(0)
            time.sleep(A_WHILE)
            raise ValueError("of the caller")

    with pytest.raises(ValueError, match="of the caller"):
        fail()
