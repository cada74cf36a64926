"""Commands of `elmo` in processes of their own."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from elmokit.errors import InputError

# As torch says it, of a GPU's memory and of the machine's.
_NO_MEMORY = ("out of memory", "can't allocate memory")
_THREADS = "OMP_NUM_THREADS"
# Time may end between the begin of a run and its command; commands refuse to have none.
_SHORTEST_MINUTES = 1e-4


class NoMemoryError(InputError):
    """A command found too little memory beside the others."""


def own_command(
    words: Sequence[str], name: str, *, minutes: float = math.inf, threads: int | None = None
) -> dict[str, Any]:
    """Run ``elmo WORDS --json`` and give what it prints; ``name`` stands in its error.

    With ``minutes`` the command is told to stop after so long. It has so many ``threads`` unless
    the environment says how many.
    """
    command = [sys.executable, "-m", "elmokit.cli", *words, "--json"]
    if minutes < math.inf:
        command += ["--minutes", str(max(minutes, _SHORTEST_MINUTES))]
    environment = dict(os.environ)
    if threads is not None:
        environment.setdefault(_THREADS, str(threads))
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if finished.returncode:
        message = f"{name} failed: {finished.stderr.strip()[-600:]}"
        if any(said in finished.stderr for said in _NO_MEMORY):
            raise NoMemoryError(message)
        raise InputError(message)
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer
