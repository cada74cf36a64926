"""Processes: order, bounds, errors, deaths and interruptions; and how much memory all takes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmokit.corpus import workers
from elmokit.corpus.blocks import Block
from elmokit.corpus.prepare import prepare
from elmokit.corpus.sources import Source
from elmokit.corpus.spill import SpillTask
from elmokit.corpus.workers import spill_in_order, start_workers
from elmokit.errors import ElmoError, InputError

PATIENCE = 60
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def task(folder: Path, number: int, words: int = 1) -> SpillTask:
    data = b"".join(b"w%d " % word for word in range(words)) + b"\n"
    return SpillTask(
        blocks=(Block(Source("t", "train"), data, first_line=number),),
        file=folder / str(number),
        tokeniser="words",
        field=None,
        longest_line=1000,
        hashes=True,
    )


@pytest.fixture
def always_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_ENOUGH_TASKS", 1)


@pytest.mark.usefixtures("always_processes")
def test_results_are_in_order_and_tasks_only_a_few_ahead(tmp_path: Path) -> None:
    taken = 0

    def tasks() -> Iterator[SpillTask]:
        nonlocal taken
        for number in range(30):
            taken += 1
            # The first takes longest, so that others overtake it.
            yield task(tmp_path, number, words=3000 if number % 4 == 0 else 2)

    for number, (blocks, spill) in enumerate(spill_in_order(tasks(), processes=3)):
        assert spill.file == tmp_path / str(number)
        assert (blocks[0].first_line, blocks[0].data) == (number, b"")
        assert taken <= number + 5
    assert taken == 30


def test_little_text_needs_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "start_workers", None)
    tasks = [task(tmp_path, number) for number in range(3)]
    assert len(list(spill_in_order(tasks, processes=8))) == 3
    assert list(spill_in_order([], processes=8)) == []


@pytest.mark.usefixtures("always_processes")
def test_an_error_in_a_worker_is_raised_here(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        list(spill_in_order([task(tmp_path / "missing", 0)], processes=2))


@pytest.mark.usefixtures("always_processes")
def test_no_worker_outlives_an_error(tmp_path: Path) -> None:
    """Not even while somebody looks at the error."""
    text = tmp_path / "t"
    text.write_bytes(b"words " * 20 + b"\n\xff\n" + b"more words\n" * 100_000)
    watched = Path("/proc/self/task").exists()
    others = children(os.getpid()) if watched else []
    with pytest.raises(InputError, match=r":2: byte 0 is 0xff") as raised:
        prepare(text, tmp_path / "out", strict=True, processes=2, block_bytes=100_000)
    assert list(tmp_path.iterdir()) == [text]
    if watched:
        left = set(children(os.getpid())) - set(others)
        assert not [child for child in left if is_running(child)]
    del raised


@needs_signals
def test_what_to_do_where_a_worker_dies(tmp_path: Path) -> None:
    with start_workers(1) as pool:
        next(pool.ask([task(tmp_path, 0)], ahead=0))
        for process in pool.processes:
            process.kill()
        with pytest.raises(ElmoError, match=r"ended by SIGKILL.*fewer processes.*--processes"):
            next(pool.ask([task(tmp_path, 1)], ahead=0))


SCRIPT = """
import os, sys
from elmokit.cli.main import main
from elmokit.corpus.prepare import prepare
prepare.__kwdefaults__["block_bytes"] = 2**17  # so that much is under way soon
os.setpgrp()
sys.argv[0] = "elmo"
main()
"""


def children(process: int) -> list[int]:
    """Find the children of all threads of a process."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text().split()]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def started(folder: Path) -> tuple["subprocess.Popen[bytes]", list[int]]:
    """Start on a text that takes long, and wait until both workers have begun."""
    (folder / "t.txt").write_bytes(b"some words that take a while to read, don't they?\n" * 400_000)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "prepare", "t.txt", "-o", "out", "--processes", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if list(folder.glob(".out.*.partial/spilled/spill-*")):
            break
        assert process.poll() is None
        time.sleep(0.02)
    found = children(process.pid)
    assert len(found) == 2
    return process, found


def wait_until_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(map(is_running, processes)):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes as Linux does")
@pytest.mark.parametrize(
    ("name", "whole_group"), [("SIGINT", True), ("SIGINT", False), ("SIGTERM", False)]
)
def test_an_interruption_leaves_nothing_behind(
    tmp_path: Path, name: str, whole_group: bool
) -> None:
    """A terminal sends Ctrl-C to the workers as well."""
    process, workers_found = started(tmp_path)
    send = os.killpg if whole_group else os.kill
    send(process.pid, signal.Signals[name])
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == b"elmo: error: interrupted; no output was written\n"
    assert [file.name for file in tmp_path.iterdir()] == ["t.txt"]
    wait_until_gone(workers_found)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes as Linux does")
def test_a_kill_leaves_no_folder_of_the_name_and_no_workers(tmp_path: Path) -> None:
    process, workers_found = started(tmp_path)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert not (tmp_path / "out").exists()
    wait_until_gone(workers_found)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes as Linux does")
def test_a_worker_killed_at_work_stops_everything(tmp_path: Path) -> None:
    process, workers_found = started(tmp_path)
    os.kill(workers_found[0], signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert b"a worker process was ended by SIGKILL, perhaps because memory ran out" in err
    assert [file.name for file in tmp_path.iterdir()] == ["t.txt"]
    wait_until_gone(workers_found)


MEASURE = """
import resource, sys
from elmokit.corpus.prepare import prepare
prepare(sys.argv[1], sys.argv[2], tokeniser="whitespace", duplicates="report", processes=1,
        block_bytes=2**17)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory in kilobytes as Linux counts it")
def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """Ten times the text with the same words; the longer one has 24 MB of text, 22 of ids."""
    line = " ".join(f"w{number}" for number in range(20))
    kilobytes = []
    for number, repeats in enumerate((3, 30)):
        file = tmp_path / f"{number}.txt"
        with file.open("w") as stream:
            for repeat in range(repeats * 3700):
                stream.write(f"{line} {repeat % 5000} {repeat * 7 % 5000}\n" * 3)
        found = subprocess.run(
            [sys.executable, "-c", MEASURE, str(file), str(tmp_path / f"out-{number}")],
            capture_output=True,
            check=True,
            text=True,
        )
        kilobytes.append(int(found.stdout))
    assert (tmp_path / "1.txt").stat().st_size > 20_000_000
    assert kilobytes[1] - kilobytes[0] < 5_000
