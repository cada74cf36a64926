"""Data of probes as JSON lines; whatever is wrong is said with file and line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError
from elmokit.lm.text_file import read_lines

Record = dict[str, Any]


def read_records(file: Path) -> Iterator[tuple[int, Record]]:
    """Give the objects of a file with one a line, packed or not, and their lines' numbers."""
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            yield number, record_of(file, number, line)


def record_of(file: Path, number: int, line: str) -> Record:
    """Read one line, which must be a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise problem(file, number, f"expected a JSON object ({error})") from error
    if not isinstance(record, dict):
        raise problem(file, number, f"expected a JSON object, found {short(record)}")
    return record


def field(file: Path, number: int, record: Record, name: str) -> Any:
    """Give a field that must be there."""
    if name not in record:
        found = ", ".join(map(repr, record)) or "none"
        raise problem(file, number, f"key {name!r} is missing; found {found}")
    return record[name]


def text_field(file: Path, number: int, record: Record, name: str) -> str:
    """Give a field that must be a string with something in it."""
    value = field(file, number, record, name)
    if not isinstance(value, str) or not value.strip():
        raise problem(file, number, f"key {name!r}: expected a text, found {short(value)}")
    return value


def texts_field(file: Path, number: int, record: Record, name: str) -> tuple[str, ...]:
    """Give a field that must be a list of strings, none of them blank, at least one."""
    value = field(file, number, record, name)
    right = isinstance(value, list) and all(
        isinstance(text, str) and text.strip() for text in value
    )
    if not right or not value:
        raise problem(
            file, number, f"key {name!r}: expected a list of strings, found {short(value)}"
        )
    return tuple(value)


def problem(file: Path, number: int, what: str) -> FormatError:
    """Make an error about a line."""
    return FormatError(file, f"line {number}: {what}")


def short(value: object) -> str:
    """Show a value that may be long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
