"""The worker's side: a loaded contender that answers one JSON line for each that it reads.

Workers run in the environment of what they time, so this file needs numpy alone. The order of
events: the settings come as JSON in the first argument, the worker loads and says that it is
ready, then it answers ``vectors``, ``time``, ``memory`` and at last ``quit``. An error is an
answer as well: ``{"error": "..."}``.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Sentences = list[list[str]]
Vectors = npt.NDArray[np.floating[Any]]
Handler = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the parent tells a worker before it loads."""

    text: str | None = None
    """A JSON file with lists of tokens, or None for a worker that reads none."""
    model: str | None = None
    """The folder of the weights, or the name of a model."""
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    threads: int = 1
    """Threads that a product may use."""
    largest_batch: int = 128
    """No batch is larger."""
    options: dict[str, Any] = field(default_factory=dict)
    """What only this contender knows."""

    def sentences(self) -> Sentences:
        """Read the text."""
        if self.text is None:
            return []
        sentences: Sentences = json.loads(Path(self.text).read_text(encoding="utf-8"))
        return sentences


class Contender(Protocol):
    """A loaded model."""

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Embed everything in batches of ``batch`` (None: its own choice) and wait for the end."""

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers of each sentence, (layers, tokens, size), as one batch."""

    def facts(self) -> dict[str, Any]:
        """Name versions and whatever belongs into the report."""


@runtime_checkable
class Forgetful(Protocol):
    """A contender that keeps words between calls and can forget them."""

    def forget_words(self) -> None:
        """Be as after loading, but warmed up."""


@runtime_checkable
class OnDevice(Protocol):
    """A contender that can say what it took of a GPU's memory."""

    def device_bytes(self) -> int | None:
        """Give the peak, or None on a CPU."""


def chunks(sentences: Sentences, batch: int) -> Iterable[Sentences]:
    """Cut a list into batches."""
    return (sentences[first : first + batch] for first in range(0, len(sentences), batch))


def versions_of(*packages: str) -> dict[str, str]:
    """Give the versions of those packages that are installed, and not merely on the path."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def serve_contender(imports: Callable[[], None], load: Callable[[Settings], Contender]) -> None:
    """Load a contender and answer until the parent says quit."""

    def start(settings: Settings) -> tuple[dict[str, Any], dict[str, Handler]]:
        sentences = settings.sentences()
        started = time.perf_counter()
        imports()
        imported = time.perf_counter()
        contender = load(settings)
        facts = {
            "imports_seconds": imported - started,
            "load_seconds": time.perf_counter() - imported,
            **contender.facts(),
        }
        return facts, {
            "vectors": lambda request: _vectors(contender, sentences, request),
            "time": lambda request: _time(contender, sentences, request),
            "memory": lambda request: _memory(contender),
        }

    serve(start)


def serve(start: Callable[[Settings], tuple[dict[str, Any], dict[str, Handler]]]) -> None:
    """Start with the settings of the first argument, then answer by the handlers that it gives."""
    # Libraries write to standard output as they please; the answers get a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        facts, handlers = start(Settings(**json.loads(sys.argv[1])))
    except (Exception, SystemExit) as error:  # simple_elmo leaves by SystemExit
        answer({"error": _named(error)})
        raise
    answer({"ready": facts})
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "quit":
            break
        try:
            answer(handlers[request["command"]](request))
        except Exception as error:
            answer({"error": _named(error)})
            raise


def _named(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def _vectors(contender: Contender, sentences: Sentences, request: dict[str, Any]) -> dict[str, Any]:
    chosen = [sentences[index] for index in request["indices"]]
    started = time.perf_counter()
    vectors = contender.vectors(chosen)
    seconds = time.perf_counter() - started
    np.savez(request["file"], *(np.asarray(array, dtype=np.float32) for array in vectors))
    return {"seconds": seconds}


def _time(contender: Contender, sentences: Sentences, request: dict[str, Any]) -> dict[str, Any]:
    chosen = [sentences[index] for index in request["indices"]]
    if request["forget"]:
        if not isinstance(contender, Forgetful):
            raise TypeError(f"{type(contender).__name__} keeps no words that it could forget")
        contender.forget_words()
    batch = request["batch"]
    # Alone in its call every sentence has a time of its own.
    calls = [[sentence] for sentence in chosen] if batch == 1 else [chosen]
    times = []
    for call in calls:
        started = time.perf_counter()
        contender.embed(call, batch)
        times.append(time.perf_counter() - started)
    return {"calls": times}


def _memory(contender: Contender) -> dict[str, Any]:
    on_device = contender.device_bytes() if isinstance(contender, OnDevice) else None
    return {"peak_bytes": _peak_bytes(), "device_bytes": on_device}


def _peak_bytes() -> int:
    """Give the peak of resident memory; getrusage would count the parent's where there is /proc."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
