"""The errors elmokit raises for what a user can put right.

Every message is one readable line: what was wrong, where, what was expected, what to do.
Anything else that escapes the library is a bug of ours.
"""

import re
from pathlib import Path
from typing import Any


class ElmoError(Exception):
    """Base of all errors that elmokit raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, whatever arguments they are made with.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[ElmoError], arguments: tuple[Any, ...], state: dict[str, Any]
) -> ElmoError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


def one_line(text: str) -> str:
    """Put a text on one line, without control characters of whatever file it came from."""
    plain = "".join(character if character.isprintable() else "\n" for character in text)
    return re.sub(r" *\n[ \n]*", " ", plain).strip()


class InputError(ElmoError, ValueError):
    """An argument or a piece of text cannot be used; the message names the value."""


class FormatError(ElmoError):
    """A model file is missing, damaged, or is not what it should be."""

    def __init__(
        self,
        file: str | Path,
        problem: str,
        *,
        key: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        self.file = Path(file)
        self.problem = problem
        self.key = key
        self.found = found
        self.expected = expected
        self.hint = hint
        message = f"{file}: {problem}"
        if key is not None:
            message += f" (key {key!r})"
        if expected is not None:
            message += f": expected {expected}"
            if found is not None:
                message += f", found {found}"
        elif found is not None:
            message += f": found {found}"
        if hint is not None:
            message += f"; {hint}"
        super().__init__(one_line(message))


class MissingExtraError(ElmoError, ImportError):
    """An optional dependency is needed; the message says what to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed: "
            f'pip install "elmokit[{extra}]"'
        )
