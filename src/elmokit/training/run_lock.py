"""One process at a time trains in a folder.

The lock is the operating system's and ends with the process, however that dies: a file that a
killed run leaves behind locks nothing. Systems and disks without such locks go without.
"""

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from elmokit.errors import InputError, one_line
from elmokit.files import exists
from elmokit.training.distributed import is_first_process

# Hidden, because a run's folder may lie among the texts that it trains on.
LOCK_FILE = ".run.lock"

_HELD_ALREADY = (errno.EAGAIN, errno.EACCES)
_NO_LOCKS_HERE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)

# Not for ever, because some network disks give a file another number each time.
_MOST_TRIES = 10


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Have a run's folder for this process alone; an error says who has it already.

    The first process of a run locks for all of them. The folder is made if there is none, and
    goes away again where nothing was put in it.
    """
    if not is_first_process() or find_spec("fcntl") is None:  # Windows has none
        yield
        return
    missing = [place for place in (folder, *folder.parents) if not exists(place)]
    file = folder / LOCK_FILE
    descriptor = _locked(file)
    for _ in range(_MOST_TRIES):
        if _is_open_as(descriptor, file):
            break
        os.close(descriptor)  # a run that ended meanwhile has removed this one
        descriptor = _locked(file)
    try:
        _write_owner(descriptor)
        yield
    finally:
        with suppress(OSError):
            if _is_open_as(descriptor, file):
                file.unlink()
            for place in missing:
                place.rmdir()
        os.close(descriptor)


def _locked(file: Path) -> int:
    """Open a file and lock it, as far as it can be locked."""
    import fcntl

    folder = file.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written to ({error.strerror}); choose another folder or allow "
            "writing there"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS_HERE:
            return descriptor
        owner = _owner(descriptor)
        os.close(descriptor)
        if error.errno in _HELD_ALREADY:
            raise InputError(
                f"{folder}: another process is training there{owner and f' ({owner})'}; stop it or "
                "let it end, then the same command goes on from its last checkpoint, or begin a "
                "new run in another folder"
            ) from error
        raise InputError(
            f"{file} cannot be locked ({error.strerror}); choose a folder on another disk"
        ) from error
    return descriptor


def _is_open_as(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except OSError:
        return False


def _write_owner(descriptor: int) -> None:
    with suppress(OSError):  # a full disk is told of when something counts
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode())


def _owner(descriptor: int) -> str:
    try:
        return one_line(os.read(descriptor, 200).decode("utf-8", "replace"))
    except OSError:  # some network disks forbid reading what is locked
        return ""
