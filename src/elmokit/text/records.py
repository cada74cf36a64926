"""Reading labelled data, so that whatever is wrong with them is said with file and line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmokit.archives import ArchiveError, unpacked
from elmokit.errors import FormatError
from elmokit.files import looks_like, open_input
from elmokit.text.tokenise import WordTokeniser

Place = int | str
"""Where something is wrong: the number of a line, or words such as ``article 3, paragraph 2``."""


def split_choice(file: Path) -> tuple[Path, str | None]:
    """Cut ``data.jsonl#train`` into the file and the split of it that is wanted.

    Some files hold all splits, each record with a field ``split``. A file that is there under its
    whole name is taken as it is; without a ``#`` there is no choice: None, all records.
    """
    name, mark, split = file.name.rpartition("#")
    if not (mark and name and split) or file.exists():
        return file, None
    return file.with_name(name), split


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Give numbered lines without their ends; the file may be compressed."""
    number = 0
    try:
        with open_input(file) as stream:
            for number, line in enumerate(unpacked(stream, file.name), start=1):
                yield number, line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise problem(file, number, f"is no UTF-8 text ({error.reason})") from error
    except ArchiveError as error:
        raise FormatError(file, str(error)) from error
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error
    if number == 0:
        raise FormatError(file, "holds no data", found=looks_like(file))


def read_records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the JSON objects of a file with one a line, and the numbers of their lines."""
    for number, line in read_lines(file):
        if line.strip():
            yield number, record_of(file, number, line)


def record_of(file: Path, number: Place, line: str) -> dict[str, Any]:
    """Read one line, which must be a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise problem(file, number, f"is no JSON ({error})") from error
    if not isinstance(record, dict):
        raise problem(file, number, f"expected a JSON object, found {short(record)}")
    return record


def string_field(file: Path, number: Place, record: dict[str, Any], name: str) -> str:
    """Give a field that must be a string."""
    text: str = _field(file, number, record, name, "a string", lambda v: isinstance(v, str))
    return text


def text_field(file: Path, number: Place, record: dict[str, Any], name: str) -> str:
    """Give a field that must be a string with something in it."""
    text: str = _field(
        file, number, record, name, "a text", lambda v: isinstance(v, str) and v.strip() != ""
    )
    return text


def tokens_field(
    file: Path, number: Place, record: dict[str, Any], name: str, *, what: str = "tokens"
) -> tuple[str, ...]:
    """Give a field that must be a list of ``what``: strings that are not empty, at least one."""
    tokens = _field(
        file, number, record, name, f"a list of {what}",
        lambda v: isinstance(v, list) and v != [] and all(isinstance(t, str) and t for t in v),
    )  # fmt: skip
    return tuple(tokens)


def words_field(file: Path, number: Place, record: dict[str, Any], name: str) -> tuple[str, ...]:
    """Give the tokens of a field that is a list of them, or a text, which is then tokenised."""
    value = _field(
        file, number, record, name, "a text or a list of tokens",
        lambda v: isinstance(v, str | list),
    )  # fmt: skip
    if isinstance(value, list):
        return tokens_field(file, number, record, name)
    tokens = tuple(WordTokeniser().words(value))
    if not tokens:
        raise problem(file, number, f"key {name!r}: expected at least one word, found {value!r}")
    return tokens


def span_of(file: Path, number: Place, value: Any, tokens: int, name: str) -> tuple[int, int]:
    """Give a span ``[first, last]``, both inside the tokens."""
    is_pair = isinstance(value, list) and len(value) == 2
    if not (is_pair and all(type(place) is int for place in value)):
        raise problem(file, number, f"{name}: expected [first, last], found {short(value)}")
    first, last = value
    if not 0 <= first <= last < tokens:
        raise problem(file, number, f"{name}: a span within {tokens} tokens, found {value}")
    return first, last


def problem(file: Path, number: Place, what: str) -> FormatError:
    """Make an error about a line, or about another place in the file."""
    return FormatError(file, f"{f'line {number}' if isinstance(number, int) else number}: {what}")


def value_of(file: Path, number: Place, record: dict[str, Any], name: str) -> Any:
    """Give the value of a field that must be there."""
    if name not in record:
        found = ", ".join(map(repr, record)) or "none"
        raise problem(file, number, f"key {name!r} is missing; found {found}")
    return record[name]


def short(value: object) -> str:
    """Show a value that may be long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _field(
    file: Path, number: Place, record: dict[str, Any], name: str, expected: str, holds: Any
) -> Any:
    value = value_of(file, number, record, name)
    if not holds(value):
        raise problem(file, number, f"key {name!r}: expected {expected}, found {short(value)}")
    return value
