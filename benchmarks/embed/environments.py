"""Where the Python of each peer is."""

import sys
from collections.abc import Sequence
from pathlib import Path

NAMES = ("allen09", "tf", "efml", "modern")


class MissingEnvironmentError(Exception):
    """There is no Python for a peer; the message says where it was looked for."""


class Environments:
    """Environments in one folder, as `make_environments.sh` makes them, and single ones."""

    def __init__(self, folder: Path | None, pythons: Sequence[str]) -> None:
        """``pythons`` are ``name=path`` and win over the folder."""
        self._folder = folder
        self._pythons: dict[str, Path] = {}
        for item in pythons:
            name, equals, path = item.partition("=")
            if name not in NAMES or not equals:
                raise ValueError(
                    f"--python: expected NAME=PATH with a name of {', '.join(NAMES)}, found {item}"
                )
            self._pythons[name] = Path(path)

    def python(self, name: str | None) -> Path:
        """Give the Python of an environment; None is the one that runs this."""
        if name is None:
            return Path(sys.executable)
        if name in self._pythons:
            return self._pythons[name].absolute()
        if self._folder is None:
            raise MissingEnvironmentError(f"no environment {name!r}: give --environments FOLDER")
        python = (self._folder / name / "bin" / "python").absolute()
        if not python.exists():
            raise MissingEnvironmentError(
                f"no environment {name!r} in {self._folder.name}: make_environments.sh makes it"
            )
        return python
