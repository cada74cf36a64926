"""The parent's side: a worker in a process of its own, spoken to in JSON lines."""

import json
import os
import subprocess
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from embed.protocol import Settings

BENCHMARKS = Path(__file__).resolve().parents[1]


class WorkerError(Exception):
    """A worker could not do what it was asked; the message says why in one line."""


class WorkerProcess:
    """A worker that is loaded when this returns."""

    def __init__(self, python: Path, module: str, settings: Settings, *, log: Path) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(
                [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "OMP_NUM_THREADS": str(settings.threads),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "HF_HUB_OFFLINE": "1",
        }
        if settings.device == "cpu":  # some take a GPU where they see one
            environment["CUDA_VISIBLE_DEVICES"] = ""
        self._log = log
        with log.open("ab") as errors:
            try:
                self._process = subprocess.Popen(
                    [str(python), "-m", f"embed.{module}", json.dumps(asdict(settings))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    encoding="utf-8",
                    env=environment,
                    cwd=log.parent,
                )
            except OSError as error:
                raise WorkerError(f"{python} does not start: {error}") from error
        try:
            self.facts: dict[str, Any] = self._answer()["ready"]
        except BaseException:
            self.close()
            raise

    def ask(self, command: str, **values: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"command": command, **values}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error
        return self._answer()

    def close(self) -> None:
        """Let the worker end, or end it."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()  # which the worker takes for a quit
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def _ended(self) -> WorkerError:
        """Say how a worker ended that was expected to answer."""
        code = self._process.wait()
        written = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = f": {written[-1]}" if written else ""
        return WorkerError(f"its process ended with {code}{reason}"[:300])
