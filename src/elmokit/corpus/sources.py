"""Which files make a corpus: names, folders, patterns and standard input, in a fixed order."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmokit.archives import SUFFIXES
from elmokit.corpus.layout import TRAIN, VALID
from elmokit.corpus.problems import Problem, Problems
from elmokit.errors import InputError
from elmokit.files import STANDARD_INPUT

RECORD_SUFFIXES = (".jsonl", ".ndjson")

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Source:
    """One file of a corpus."""

    name: str
    """Its path as it was given or found; `-` is standard input."""
    split: str
    """The split its text belongs to."""
    is_records: bool = False
    """Whether it holds one JSON object a line."""
    size: int = 0
    """Bytes on disk, as far as they are known."""

    @property
    def is_regular(self) -> bool:
        """Whether it is a file on disk, and no pipe."""
        return self.name != STANDARD_INPUT and not _is_pipe(Path(self.name))


def find_sources(
    corpus: Sequence[PathLike],
    valid: Sequence[PathLike],
    *,
    field: str | None,
    leave_out: Path,
    problems: Problems,
) -> list[Source]:
    """List the files of a corpus and of its held-out text.

    A folder stands for all files in it and below, sorted by path, without hidden ones and
    without the folder ``leave_out``.
    """
    if not corpus:
        raise InputError("the corpus names no file; name files, folders or patterns")
    sources: list[Source] = []
    seen: dict[str, str] = {}
    for split, paths in ((TRAIN, corpus), (VALID, valid)):
        for name in _expanded(paths, leave_out):
            identity = name if name == STANDARD_INPUT else os.path.realpath(name)
            if identity not in seen:
                seen[identity] = split
                sources.append(_source(name, split, field))
            elif seen[identity] == split:
                problems.add(Problem("repeated_file", "is named more than once", file=name))
            else:
                raise InputError(f"{name} is both corpus and held-out text; take it out of one")
    if field is not None and not any(source.is_records for source in sources):
        raise InputError(
            f"field {field!r} was given, but no file is read as JSON records; "
            f"their names end in {' or '.join(RECORD_SUFFIXES)}, also compressed"
        )
    return sources


def _source(name: str, split: str, field: str | None) -> Source:
    if name == STANDARD_INPUT:
        return Source(name, split, is_records=field is not None)
    is_records = _plain_name(name).endswith(RECORD_SUFFIXES)
    if is_records and field is None:
        raise InputError(
            f"{name} holds JSON records; say in which field the text is (field, --field)"
        )
    try:
        size = Path(name).stat().st_size
    except OSError:
        size = 0  # the reader finds out why
    return Source(name, split, is_records, size)


def _plain_name(name: str) -> str:
    lowered = name.lower()
    for suffix in SUFFIXES:
        lowered = lowered.removesuffix(suffix)
    return lowered


def _expanded(paths: Sequence[PathLike], leave_out: Path) -> list[str]:
    names: list[str] = []
    for path in [os.fspath(path) for path in paths]:
        if path == STANDARD_INPUT:
            names.append(path)
        elif _exists(path):
            names += _files(path, leave_out)
        elif glob.has_magic(path):
            found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - knows absolute patterns
            files = [name for match in found for name in _files(match, leave_out)]
            if not files:
                raise InputError(f"{path}: the pattern fits no file")
            names += files
        else:
            raise InputError(f"{path}: no such file or folder")
    return names


def _files(path: str, leave_out: Path) -> list[str]:
    if not os.path.isdir(path):  # noqa: PTH112 - names stay as they were given
        return [path]
    left_out = os.path.realpath(leave_out)
    found = []
    for folder, folders, files in os.walk(path):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) != left_out  # noqa: PTH118
        ]
        found += [Path(folder, name) for name in files if not name.startswith(".")]
    if not found:
        raise InputError(f"{path}: the folder holds no file")
    return [str(file) for file in sorted(found, key=lambda file: file.parts)]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _is_pipe(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file()
    except OSError:
        return False
