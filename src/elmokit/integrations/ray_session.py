"""A Ray cluster for the time of one call: one that is there, or one of this machine alone.

Ray talks a lot, sends statistics and takes SIGTERM over; here it does none of that.
"""

import logging
import os
import re
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from elmokit.errors import InputError, MissingExtraError, one_line

LOCAL, RUNNING = "local", "auto"

# Ray takes a third of the memory unless told, and we keep little there beside the model.
LEAST_OBJECT_STORE = 128 * 2**20
SECONDS_TO_ANSWER = 10

_ADDRESS = re.compile(r"(ray://)?(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+):(?P<port>\d{1,5})")
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def load_ray() -> Any:
    """Import Ray with its part for data, or say how to get it."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "embedding on a Ray cluster") from error
    return ray


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a cluster, or where nobody answers."""
    if address in (LOCAL, RUNNING):
        return
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise InputError(
            f"ray: expected 'local' for this machine, 'auto' for the cluster that it belongs to, "
            f"HOST:PORT or ray://HOST:PORT, found {address!r}"
        )
    host, port = parts["host"].strip("[]"), int(parts["port"])
    try:
        # Ray would try for minutes.
        socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _no_connection(address, str(error)) from error


@contextmanager
def ray_session(address: str, *, object_bytes: int) -> Iterator[Any]:
    """Give Ray, connected; a connection that the program has already is used and left open.

    ``object_bytes`` is what a cluster of this machine alone has to keep in shared memory.
    """
    check_address(address)
    ray = load_ray()
    data_log = logging.getLogger("ray.data")
    level = data_log.level
    data_log.setLevel(logging.ERROR)
    connected = ray.is_initialized()
    try:
        if connected:
            yield ray
            return
        with _environment(_QUIET | (_secret() if address == LOCAL else {})):
            try:
                _connect(ray, address, object_bytes)
                yield ray
            finally:
                ray.shutdown()
    finally:
        data_log.setLevel(level)


def _connect(ray: Any, address: str, object_bytes: int) -> None:
    alone = {
        "include_dashboard": False,
        "object_store_memory": max(LEAST_OBJECT_STORE, 2 * object_bytes),
    }
    with _own_sigterm(), _silence():
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(alone if address == LOCAL else {}),
            )
        except (ConnectionError, ImportError, ValueError, RuntimeError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            what = "this machine belongs to no cluster" if address == RUNNING else reason
            raise _no_connection(address, what) from error


def _no_connection(address: str, why: str) -> InputError:
    return InputError(
        f"ray: no connection to {address!r} ({one_line(why)}); start a cluster with ray start "
        "--head, or use 'local' for this machine alone; a cluster with a token wants it in "
        "RAY_AUTH_TOKEN, with RAY_AUTH_MODE=token"
    )


@cache
def _secret() -> dict[str, str]:
    """Make a password for clusters of this process, so that Ray writes none to the home folder."""
    return {"RAY_AUTH_TOKEN": secrets.token_hex(32)}


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """Set variables that nobody has set, for as long as Ray may read them; then take them out.

    Ray adds some of its own.
    """
    before = set(os.environ)
    os.environ.update({name: value for name, value in wanted.items() if name not in before})
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            if name not in before:
                del os.environ[name]


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Put the program's answer to SIGTERM back, which Ray replaces by its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _silence() -> Iterator[None]:
    """Keep from the error stream what Ray's C++ says of its own log while it starts."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
