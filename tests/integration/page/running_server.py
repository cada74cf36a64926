"""`elmo serve` in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_TO_END = 120


@contextmanager
def serving(*options: str, threads: int | None = 1) -> Iterator[str]:
    """Run `elmo serve` on any free port and give its address.

    It computes with one thread, because the browser and the tests need the other core; None: as it
    likes.
    """
    limit = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    process = subprocess.Popen(
        [sys.executable, "-m", "elmokit.cli", "serve", "--port", "0", *options],
        env=os.environ | limit,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, f"the server said {said!r}"
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=SECONDS_TO_END)
        process.stdout.close()
