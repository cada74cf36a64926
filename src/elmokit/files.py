"""Files that are whole or not there: write beside, sync, rename. And reading them back checked."""

import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from io import BufferedReader
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError, InputError

MANIFEST_FILE = "manifest.json"
STANDARD_INPUT = "-"


@contextmanager
def replacing_file(destination: Path) -> Iterator[Path]:
    """Give a path to write to; it takes the place of ``destination`` only if all went well."""
    if destination.is_dir():
        raise InputError(f"{destination} is a folder, expected the name of a file")
    beside = _beside(destination)
    try:
        yield beside
        _sync(beside)
        beside.replace(destination)
        _sync(destination.absolute().parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(
    destination: Path, *, overwrite: bool, replaceable: Sequence[str] = ("*",)
) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes ``destination`` only if all went well.

    With ``overwrite`` a folder is replaced whose files all match the patterns ``replaceable``;
    one that holds anything else is left alone.
    """
    _check_replaceable(destination, overwrite, replaceable)
    beside = _beside(destination)
    try:
        beside.mkdir()
        yield beside
        mode = _mode_of_new_files(beside)
        for file in beside.iterdir():
            file.chmod(mode)  # safetensors makes files that only the owner reads
            _sync(file)
        _sync(beside)
        # Filling may have taken hours, in which another process can have put something there.
        _check_replaceable(destination, overwrite, replaceable)
        _swap(beside, destination)
        _sync(destination.absolute().parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_replaceable(destination: Path, overwrite: bool, replaceable: Sequence[str]) -> None:
    if not destination.exists() and not destination.is_symlink():
        return
    if destination.is_symlink() or not destination.is_dir():
        raise InputError(f"{destination} is a link or a file; name the folder itself")
    entries = sorted(destination.iterdir())
    if not entries:
        return
    if not overwrite:
        raise exists_error(destination)
    for entry in entries:
        if entry.is_dir() or not any(fnmatch(entry.name, pattern) for pattern in replaceable):
            raise InputError(
                f"{destination} holds {entry.name!r}, which is no part of a model; "
                "it is not replaced: choose another place"
            )


def _swap(beside: Path, destination: Path) -> None:
    """Put ``beside`` in the place of ``destination``; on failure the old folder stays."""
    if not destination.exists():
        beside.rename(destination)
        return
    retired = beside.with_suffix(".old")
    destination.rename(retired)
    try:
        beside.rename(destination)
    except BaseException:
        retired.rename(destination)
        raise
    shutil.rmtree(retired)


def exists_error(destination: Path) -> InputError:
    """Say that something is in the way, and how to allow replacing it."""
    return InputError(
        f"{destination} exists already; choose another place or allow replacing it "
        "(overwrite=True, --overwrite in the shell)"
    )


def check_parent(destination: Path) -> Path:
    """Give the folder that ``destination`` goes into, if something can be written there."""
    parent = destination.absolute().parent
    if not parent.is_dir():
        raise InputError(f"{parent} is not a folder; create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{parent} cannot be written to; choose another place")
    return parent


def _beside(destination: Path) -> Path:
    parent = check_parent(destination)
    return parent / f".{destination.name[:40]}.{secrets.token_hex(4)}.partial"


def _mode_of_new_files(folder: Path) -> int:
    probe = folder / ".mode"
    probe.touch()
    mode = stat.S_IMODE(probe.stat().st_mode)
    probe.unlink()
    return mode


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn the system's refusals into our error."""
    try:
        yield
    except OSError as error:
        raise FormatError(file, f"cannot be read ({error.strerror or error})") from error


# What people have in place of a model without knowing, by a file's first bytes.
_LOOK_ALIKES = {
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"version https://git-lfs": "a Git LFS pointer; run `git lfs pull` where it came from",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"<!doctype": "a web page; the download failed",
    b"<html": "a web page; the download failed",
}


def looks_like(file: Path) -> str:
    """Say what a file seems to be from its first bytes."""
    with _reading(file), file.open("rb") as stream:
        return beginning_looks_like(stream.read(64))


def beginning_looks_like(head: bytes) -> str:
    """Say what a file seems to be that begins with ``head``."""
    if not head:
        return "an empty file"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for magic, description in _LOOK_ALIKES.items():
        if head.startswith(magic) or text.startswith(magic):
            return description
    return f"a file that starts with {head[:16]!r}"


def open_input(source: str | Path) -> BufferedReader:
    """Open a file to read its bytes; ``-`` is standard input."""
    if str(source) == STANDARD_INPUT:
        # Not ours to close: leave standard input open for whoever called.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    return Path(source).open("rb")


def read_bytes(file: Path) -> bytes:
    """Read a whole file; a missing or unreadable one is a `FormatError`."""
    with _reading(file):
        return file.read_bytes()


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
    write_text(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(file: Path, text: str) -> None:
    """Write UTF-8 with its line ends as they are."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = text[error.start : error.end]
        raise InputError(f"{bad!r} is no valid Unicode and cannot be written") from error
    file.write_bytes(content)


def is_file(path: Path) -> bool:
    """Say whether there is a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Say whether there is a file or a folder; a name that nothing can have is nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def sha256_of(file: Path) -> str:
    """Give the SHA-256 of a file's content in hexadecimal."""
    with _reading(file), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_manifest(folder: Path) -> None:
    """List every file of a folder with its size and SHA-256."""
    files = {
        file.name: {"size": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(folder.iterdir())
    }
    write_json(folder / MANIFEST_FILE, {"files": files})


def check_manifest(
    folder: Path, required: Sequence[str], *, unchecked: Sequence[str] = ()
) -> set[str]:
    """Check every file against the folder's manifest and give the names that it lists.

    ``required`` files must be listed; ``unchecked`` ones are passed over.
    """
    manifest = folder / MANIFEST_FILE
    listed = read_json(manifest).get("files")
    if not isinstance(listed, dict):
        raise FormatError(manifest, "wrong content", key="files", expected="an object")
    for name in required:
        if name not in listed:
            raise FormatError(manifest, "file not listed", key=name)
    for name, facts in listed.items():
        if Path(name).name != name:
            raise FormatError(manifest, "file outside the folder", key=name)
        if not isinstance(facts, dict) or not {"size", "sha256"} <= facts.keys():
            raise FormatError(manifest, "wrong content", key=name, expected="size and sha256")
        if name not in unchecked:
            _check_listed(folder / name, facts)
    return set(listed)


def _check_listed(file: Path, facts: dict[str, Any]) -> None:
    if not is_file(file):
        raise FormatError(file, "missing, though the manifest lists it")
    size = file.stat().st_size
    if size != facts["size"]:
        raise FormatError(
            file, "damaged", found=f"{size} bytes", expected=f"{facts['size']} (manifest)"
        )
    digest = sha256_of(file)
    if digest != facts["sha256"]:
        raise FormatError(
            file,
            "damaged or edited since it was saved",
            found=f"SHA-256 {digest}",
            expected=f"{facts['sha256']} (manifest)",
            hint="get the file again",
        )
