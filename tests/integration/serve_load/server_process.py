"""A real `elmo serve` in a process of its own, and what can be seen of it from outside."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from integration.serve_load.exchange import Answer, exchange, request_bytes

PATIENCE = 180.0  # seconds; only a hang takes so long
READY = re.compile(r"serving .* at http://127\.0\.0\.1:(\d+)")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SAMPLE = re.compile(r"^(\w+)(\{[^}]*\})? ([^ ]+)$")


@dataclass
class ServerProcess:
    """A server that answers."""

    process: subprocess.Popen[str]
    port: int
    log: Path
    key: str | None = None

    def connect(self, *, timeout: float = 10.0) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def ask(self, method: str, target: str, body: bytes | None = None) -> Answer:
        """Send one ordinary request on a connection of its own."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        with self.connect(timeout=PATIENCE) as connection:
            return exchange(connection, request_bytes(method, target, body, headers=headers))

    def metrics(self) -> dict[str, float]:
        """Read the figures, by their name with labels."""
        found = {}
        for line in self.ask("GET", "/metrics").body.decode().splitlines():
            if match := SAMPLE.match(line):
                found[match[1] + (match[2] or "")] = float(match[3])
        return found

    def unfinished(self) -> int:
        """Count requests that wait, or that an answer is made for, but for the one that asks."""
        figures = self.metrics()
        waiting = total(figures, "elmokit_queue_requests") + total(figures, "elmokit_queue_tokens")
        return int(waiting + total(figures, "elmokit_requests_in_flight")) - 1

    def resident_bytes(self) -> int:
        """Give the memory that the process holds."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * PAGE_BYTES

    def cpu_seconds(self) -> float:
        """Give the time that all its threads have computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def terminate(self) -> None:
        """Ask for the end and do not wait for it."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Give the exit code once it has ended."""
        return self.process.wait(PATIENCE)

    def stop(self) -> int:
        """Ask for the end and wait for it."""
        if self.process.poll() is None:
            self.terminate()
        return self.wait()


def total(figures: dict[str, float], name: str) -> float:
    """Add up a figure over its labels."""
    return sum(value for key, value in figures.items() if key.partition("{")[0] == name)


@contextlib.contextmanager
def running_server(
    folder: Path, options: Sequence[str] = (), *, key: str | None = None, threads: int | None = 1
) -> Iterator[ServerProcess]:
    """Start a server on a free port, and end it; its log goes to ``folder``.

    It computes with one thread unless told otherwise (None: as it likes): the other core is for
    those who ask, and threads that wait for each other are slow where cores are shared.
    """
    options = list(options)
    if key is not None:
        (folder / "keys").write_text(f"{key}\n", encoding="utf-8")
        options += ["--api-key-file", str(folder / "keys")]
    log = folder / "server.log"
    command = [str(Path(sys.executable).with_name("elmo")), "serve", "--port", "0", *options]
    with log.open("w", encoding="utf-8") as output:
        limit = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
        process = subprocess.Popen(
            command, stdout=output, stderr=output, text=True, env=os.environ | limit
        )
    try:
        yield ServerProcess(process, _port(process, log), log, key)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
            raise


def _port(process: subprocess.Popen[str], log: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8")
        if match := READY.search(text):
            return int(match[1])
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")
