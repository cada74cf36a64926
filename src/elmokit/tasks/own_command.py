"""Commands of `elmo` in processes of their own."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from elmokit.errors import InputError

# As torch says it, of a GPU's memory and of the machine's.
_NO_MEMORY = ("out of memory", "can't allocate memory")


class NoMemoryError(InputError):
    """A command found too little memory beside the others."""


def own_command(words: Sequence[str], name: str) -> dict[str, Any]:
    """Run ``elmo WORDS --json`` and give what it prints; ``name`` stands in its error."""
    command = [sys.executable, "-m", "elmokit.cli", *words, "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        message = f"{name} failed: {finished.stderr.strip()[-600:]}"
        if any(said in finished.stderr for said in _NO_MEMORY):
            raise NoMemoryError(message)
        raise InputError(message)
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer
