"""A folder of shards that can be gone on with: what it is made of, and what is still missing.

The manifest says with what and from what the shards are made. Whoever comes back with anything
else is told what differs, and nothing is mixed. Its name begins as readers of Parquet folders
want it for what they shall pass over.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elmokit.embed.shard_writer import shard_tokens
from elmokit.embed.text_pieces import TextPiece, TextSource
from elmokit.errors import FormatError, InputError
from elmokit.files import exists, read_json, replacing_file, write_json
from elmokit.version import __version__

MANIFEST_FILE = "_manifest.json"
FORMAT = "elmokit shards"
FORMAT_VERSION = 1

SHARDS = "shard-*.parquet"
# What a killed process leaves behind.
LEFT_BEHIND = (".shard-*.partial", ".shard-*.attempts", f".{MANIFEST_FILE}.*.partial")

_HELD_ALREADY = (errno.EAGAIN, errno.EACCES)


@dataclass(frozen=True)
class ShardSettings:
    """All that decides about the numbers in a shard, beside its text."""

    model: str
    """The model's name, for people."""
    model_sha256: str
    layers: str | int | list[float]
    dtype: str
    """What products are made in."""
    float16: bool
    tokenised: bool
    start: str
    shard_bytes: int
    """Text of a shard."""


def shard_file(folder: Path, piece: TextPiece) -> Path:
    """Name the shard of a piece; names sort as the text goes."""
    return folder / f"shard-{piece.number:06}.parquet"


@contextmanager
def shards_to_make(
    folder: Path,
    settings: ShardSettings,
    sources: Sequence[TextSource],
    pieces: Sequence[TextPiece],
) -> Iterator[dict[int, int]]:
    """Have the folder for this process; give the tokens of the shards that are there, by number.

    Who fills the dictionary up says that all is made; the manifest then says so too.
    """
    recorded: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "settings": asdict(settings),
        "sources": [asdict(source) for source in sources],
        "shards": len(pieces),
    }
    _make_folder(folder)
    with _locked(folder):
        manifest = folder / MANIFEST_FILE
        if exists(manifest) and any(folder.glob(SHARDS)):
            _check_same(manifest, recorded)
        else:
            _check_empty(folder)
            _write(manifest, {**recorded, "elmokit": __version__, "complete": False})
        _clear(folder)
        found = {piece.number: shard_tokens(shard_file(folder, piece), piece) for piece in pieces}
        made = {number: tokens for number, tokens in found.items() if tokens is not None}
        yield made
        if len(made) == len(pieces):
            _clear(folder)  # a machine may have been lost in the middle of a shard
            counts = {"sentences": sum(source.lines for source in sources)}
            counts["tokens"] = sum(made.values())
            before = read_json(manifest)
            if before != (after := {**before, "complete": True, **counts}):
                _write(manifest, after)


def _clear(folder: Path) -> None:
    for pattern in LEFT_BEHIND:
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    if exists(folder) and not folder.is_dir():
        raise InputError(f"output: {folder} is a file, expected a folder for shards")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"output: {folder} cannot be made ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"output: {folder} cannot be written to; choose another place")


def _check_empty(folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        if not any(entry.match(pattern) for pattern in (MANIFEST_FILE, *LEFT_BEHIND)):
            raise InputError(
                f"output: {folder} holds {entry.name!r} and no shards of elmo embed; choose a "
                "new or an empty folder"
            )


def _check_same(manifest: Path, wanted: dict[str, Any]) -> None:
    found = read_json(manifest)
    if found.get("format") != FORMAT or found.get("version") != FORMAT_VERSION:
        raise FormatError(
            manifest,
            "not a manifest that this version knows",
            found=f"{found.get('format')!r}, version {found.get('version')!r}",
            expected=f"{FORMAT!r}, version {FORMAT_VERSION}",
        )
    try:
        differences = [
            *_differing_settings(found["settings"], wanted["settings"]),
            *_differing_sources(found["sources"], wanted["sources"]),
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(manifest, "damaged", hint="choose another folder") from error
    if differences:
        raise InputError(
            f"output: {manifest.parent} was begun with other things: {'; '.join(differences)}. "
            "Use the same ones to go on, or another folder"
        )


def _differing_settings(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    compared = [name for name in now if name not in ("model", "model_sha256")]
    found = [
        f"{name} was {before.get(name)!r}, is {now[name]!r}"
        for name in compared
        if before.get(name) != now[name]
    ]
    if before.get("model_sha256") != now["model_sha256"]:
        names = (
            f"was {before.get('model')!r}, is {now['model']!r}"
            if before.get("model") != now["model"]
            else f"{now['model']!r} is not what it was then"
        )
        found.insert(0, f"model {names}")
    return found


def _differing_sources(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    old = {source["name"]: source for source in before}
    new = {source["name"]: source for source in now}
    found = [f"{name} was not among the files" for name in new if name not in old]
    found += [f"{name} is missing among the files" for name in old if name not in new]
    for name, source in new.items():
        if name not in old:
            continue
        if old[name]["size"] != source["size"]:
            found.append(f"{name} had {old[name]['size']} bytes, has {source['size']}")
        elif old[name]["sha256"] != source["sha256"]:
            found.append(f"{name} has another content (SHA-256 {source['sha256'][:12]}...)")
    if not found and list(old) != list(new):
        found.append("the files came in another order")
    return found


def _write(manifest: Path, value: dict[str, Any]) -> None:
    with replacing_file(manifest) as partial:
        write_json(partial, value)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second process out; the lock is the system's and ends with this process.

    Some network disks and Windows have no such locks; there it goes without.
    """
    if find_spec("fcntl") is None:
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD_ALREADY:
                raise InputError(
                    f"output: another process is writing shards into {folder}; let it end, then "
                    "the same command does what is missing"
                ) from error
        yield
    finally:
        os.close(descriptor)
