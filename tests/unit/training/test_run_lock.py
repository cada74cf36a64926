"""One process at a time in a run's folder, and nothing in the way of the next."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.training.run_lock import LOCK_FILE, run_lock

# Takes the lock, starts a child that outlives it, and says so.
HOLDER = """
import subprocess, sys, time
from pathlib import Path
from elmokit.training.run_lock import run_lock
with run_lock(Path(sys.argv[1])):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdout=2, close_fds=False)
    print(child.pid, flush=True)
    time.sleep(600)
"""


def tree(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """Give names, contents and times of all that lies in a folder."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else None,
            path.stat().st_mtime_ns,
        )
        for path in [folder, *folder.rglob("*")]
    }


@contextmanager
def held_by_another(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Have another process hold the lock, with a child of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline().strip().isdigit()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()  # which ends the child too
        process.stdout.close()


def assert_locked(folder: Path) -> str:
    with pytest.raises(InputError, match="another process is training there") as caught:
        run_lock(folder).__enter__()
    return str(caught.value)


def test_a_second_run_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with run_lock(folder):
        (folder / "log.jsonl").write_text("{}", encoding="utf-8")
        before = tree(tmp_path)
        message = assert_locked(folder)
        assert message.startswith(
            f"{folder}: another process is training there (process {os.getpid()} on "
        )
        assert "stop it or let it end" in message
        assert message.endswith("or begin a new run in another folder")
        assert_locked(folder)
        assert tree(tmp_path) == before
    with run_lock(folder):
        pass
    assert [path.name for path in folder.iterdir()] == ["log.jsonl"]


def test_other_names_of_the_folder_are_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    with run_lock(tmp_path / "run"):
        assert_locked(tmp_path / "link")
        with run_lock(tmp_path / "other"):
            pass


def test_a_killed_process_locks_nothing(tmp_path: Path) -> None:
    """Neither by the file that it leaves nor through its children that live on."""
    folder = tmp_path / "run"
    with held_by_another(folder) as process:
        assert f"(process {process.pid} on " in assert_locked(folder)
        process.kill()
        process.wait()
        assert (folder / LOCK_FILE).exists()
        with run_lock(folder):
            assert f"(process {os.getpid()} on " in assert_locked(folder)
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\xff\x00\n" * 1000])
def test_whatever_lies_in_the_file(tmp_path: Path, content: bytes) -> None:
    with run_lock(tmp_path):
        (tmp_path / LOCK_FILE).write_bytes(content)
        message = assert_locked(tmp_path)
        assert message.isprintable()
        assert len(message) < 1000
        assert ("training there; " in message) == (not content)


@pytest.mark.parametrize("kind", [None, InputError, KeyboardInterrupt])
def test_what_stays_of_the_folder(tmp_path: Path, kind: type[BaseException] | None) -> None:
    """A run that was refused for another reason leaves nothing, not even its folder."""

    def run(folder: Path, *, writes: bool) -> None:
        with run_lock(folder):
            assert (folder / LOCK_FILE).exists()
            if writes:
                (folder / "log.jsonl").touch()
            if kind is not None:
                raise kind

    (tmp_path / "there").mkdir()
    for folder, writes in (("there", False), ("new/run", False), ("full/run", True)):
        if kind is None:
            run(tmp_path / folder, writes=writes)
        else:
            with pytest.raises(kind):
                run(tmp_path / folder, writes=writes)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "full", "log.jsonl", "run", "there",
    ]  # fmt: skip


def test_a_run_that_ends_between_opening_and_locking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is gone then, and a lock on it would keep nobody out."""
    flock, calls = fcntl.flock, 0

    def ends_first(descriptor: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            (tmp_path / LOCK_FILE).unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", ends_first)
    with run_lock(tmp_path):
        assert calls == 2
        assert_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []


def refusing(number: int) -> Any:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_disks_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(number))
    with run_lock(tmp_path), run_lock(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EACCES])
def test_disks_that_refuse_in_other_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(number))
    assert_locked(tmp_path)


def test_disks_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(errno.EIO))
    with (
        pytest.raises(InputError, match=r"\.run\.lock cannot be locked \(Input/output error\)"),
        run_lock(tmp_path),
    ):
        raise AssertionError("unreachable")


def test_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with run_lock(tmp_path / "run"), run_lock(tmp_path / "run"):
        assert not (tmp_path / "run").exists()


def test_the_first_process_locks_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_lock(tmp_path):
        monkeypatch.setenv("RANK", "1")
        with run_lock(tmp_path):
            pass
        monkeypatch.setenv("RANK", "0")
        assert_locked(tmp_path)


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"run cannot be written to \(Not a directory\)"),
        run_lock(tmp_path / "file" / "run"),
    ):
        raise AssertionError("unreachable")


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written to by root")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with (
            pytest.raises(InputError, match=r"cannot be written to.*choose another folder"),
            run_lock(tmp_path),
        ):
            raise AssertionError("unreachable")
    finally:
        tmp_path.chmod(0o700)
