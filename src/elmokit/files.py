"""Files that are whole or not there: write beside, sync, rename. And reading them back checked."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError, InputError


@contextmanager
def replacing_file(destination: Path) -> Iterator[Path]:
    """Give a path to write to; it takes the place of ``destination`` only if all went well."""
    beside = _beside(destination)
    try:
        yield beside
        _sync(beside)
        beside.replace(destination)
        _sync(destination.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(destination: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes ``destination`` only if all went well."""
    if destination.exists() and not (overwrite or _is_empty_folder(destination)):
        raise InputError(f"{destination} exists already; choose another place or allow overwriting")
    beside = _beside(destination)
    try:
        beside.mkdir()
        yield beside
        for file in beside.iterdir():
            _sync(file)
        _sync(beside)
        retired = beside.with_suffix(".old")
        if destination.exists():
            destination.rename(retired)
        beside.rename(destination)
        _sync(destination.parent)
        if retired.is_dir():
            shutil.rmtree(retired)
        else:
            retired.unlink(missing_ok=True)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(destination: Path) -> Path:
    parent = destination.absolute().parent
    if not parent.is_dir():
        raise InputError(f"{parent} is not a folder; create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{parent} cannot be written to; choose another place")
    return parent / f".{destination.name}.{os.getpid()}.partial"


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(file: Path) -> bytes:
    """Read a whole file; a missing or unreadable one is a `FormatError`."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error


def read_text(file: Path) -> str:
    """Read a UTF-8 file with its line ends as they are."""
    try:
        return read_bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(file, f"is not UTF-8 text (byte {error.start})") from error


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        value = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise FormatError(file, f"is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise FormatError(file, "wrong content", found=type(value).__name__, expected="an object")
    return value


def write_json(file: Path, value: dict[str, Any]) -> None:
    """Write a JSON object the way people like to read it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8", newline="\n")


def sha256_of(file: Path) -> str:
    """Give the SHA-256 of a file's content in hexadecimal."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error
