"""Starts load generators."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from integration.serve_load.load_plan import Plan, Seen

TESTS = Path(__file__).resolve().parents[2]
NICENESS = 5
"""A generator gives way to the server, which is what is measured."""


@dataclass
class LoadProcess:
    """A load generator at work."""

    started: float
    """When it began to send, by the system's clock."""
    _process: subprocess.Popen[str]
    _folder: tempfile.TemporaryDirectory[str]

    def wait(self) -> Seen:
        """Give what it has seen, once it has ended."""
        output, _ = self._process.communicate()
        with self._folder as folder:
            if self._process.returncode != 0:
                raise AssertionError(f"the load generator failed:\n{output}")
            return Seen.load(Path(folder) / "seen.npz")


def start_load(plan: Plan, *, niceness: int = NICENESS) -> LoadProcess:
    """Start a process that carries a plan out, and wait until it has its connections."""
    folder = tempfile.TemporaryDirectory()
    process = subprocess.Popen(
        [
            *(
                "nice",
                "-n",
                str(niceness),
                sys.executable,
                "-m",
                "integration.serve_load.load_process",
            ),
            *(plan.text(), str(Path(folder.name) / "seen.npz")),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    word, _, started = process.stdout.readline().partition(" ")
    if word != "started":
        raise AssertionError("the load generator did not start")
    return LoadProcess(float(started), process, folder)


def run_load(plan: Plan) -> Seen:
    """Carry a plan out."""
    return start_load(plan).wait()
