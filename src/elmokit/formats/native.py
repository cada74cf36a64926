"""elmokit's own format: a folder that says what it is and proves it is unharmed.

``config.json``          the `ModelConfig`, free facts about the model, the format's version, and
                         how the tensors are stored (`storage`)
``model.safetensors``    the tensors of `expected_tensors`, and a start state where there is one
``softmax.safetensors``  of these tensors the softmax, which vectors do without
``vocabulary.txt``       one word a line, in the order of ids (word input or softmax)
``characters.txt``       one character a line (models with a character dictionary)
``manifest.json``        size and SHA-256 of each of the files above

Version 1 has float32 alone and the softmax in ``model.safetensors``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from elmokit.config import ModelConfig
from elmokit.errors import FormatError, InputError
from elmokit.files import (
    MANIFEST_FILE,
    check_manifest,
    is_file,
    read_json,
    read_text,
    replacing_folder,
    write_json,
    write_manifest,
    write_text,
)
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint, config_error
from elmokit.formats.storage import Storage, checked_storage, pack, unpack
from elmokit.text.vocabulary import Vocabulary

NAME = "native"
# A folder that version 1 can express is written as version 1, which older readers know.
FORMAT_VERSIONS = (1, 2)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
SOFTMAX_FILE = "softmax.safetensors"
VOCABULARY_FILE = "vocabulary.txt"
CHARACTERS_FILE = "characters.txt"

_SOFTMAX = "softmax."


@dataclass(frozen=True)
class Layout:
    """How a native folder lies on disk."""

    storage: Storage
    """How its tensors are stored."""
    file_sizes: dict[str, int]
    """Bytes of each file that the manifest lists."""


def read(folder: Path, *, softmax: bool = True) -> Checkpoint:
    """Read a native folder; every file of the manifest is checked first.

    With ``softmax=False`` the softmax's own file is not looked at, so nobody waits for it.
    """
    listed = _check_files(folder, softmax=softmax)
    config_file = folder / CONFIG_FILE
    settings, storage = _read_settings(config_file)
    metadata = _metadata(config_file, settings.pop("metadata", {}))
    try:
        config = ModelConfig.from_dict(settings.pop("model", None), "model")
    except InputError as error:
        raise config_error(config_file, error) from error
    if settings:
        raise FormatError(config_file, "unknown key", key=min(settings))
    if not softmax:
        config = replace(config, softmax_size=None)
    vocabulary = characters = None
    if VOCABULARY_FILE in listed:
        words = _read_lines(folder / VOCABULARY_FILE)
        vocabulary = Vocabulary(words, marks=config.marks)
    if CHARACTERS_FILE in listed:
        characters = tuple(_read_lines(folder / CHARACTERS_FILE))
    weights_file, softmax_file = folder / WEIGHTS_FILE, folder / SOFTMAX_FILE
    tensors = _read_tensors(weights_file, storage, softmax=softmax)
    apart = softmax and SOFTMAX_FILE in listed
    if apart:
        tensors |= _read_softmax(softmax_file, storage, beside=tensors)
    checkpoint = Checkpoint(
        config=config,
        tensors=tensors,
        vocabulary=vocabulary,
        characters=characters,
        metadata=metadata,
        source_format=NAME,
    )
    with _naming(softmax_file if apart else weights_file):
        return checkpoint.validated(
            weights_file,
            config_file=config_file,
            vocabulary_file=None if vocabulary is None else folder / VOCABULARY_FILE,
            characters_file=folder / CHARACTERS_FILE,
        )


def write(
    checkpoint: Checkpoint, folder: Path, *, overwrite: bool = False, storage: Storage = "float32"
) -> None:
    """Write a native folder; it appears whole or not at all.

    ``storage`` is how the large tensors are kept: ``"float32"`` (exact), ``"float16"`` or
    ``"int8"``. The softmax goes into a file of its own.
    """
    stored = pack(checkpoint.tensors, storage)
    softmax = {name: tensor for name, tensor in stored.items() if name.startswith(_SOFTMAX)}
    weights = {name: tensor for name, tensor in stored.items() if name not in softmax}
    settings: dict[str, Any] = {"format_version": 1}
    if softmax or storage != "float32":
        settings = {"format_version": 2, "storage": storage}
    settings |= {"metadata": checkpoint.metadata, "model": checkpoint.config.to_dict()}
    with replacing_folder(folder, overwrite=overwrite, replaceable=MODEL_FILES) as partial:
        write_json(partial / CONFIG_FILE, settings)
        safetensors.torch.save_file(weights, partial / WEIGHTS_FILE)
        if softmax:
            safetensors.torch.save_file(softmax, partial / SOFTMAX_FILE)
        if checkpoint.vocabulary is not None:
            _write_lines(partial / VOCABULARY_FILE, checkpoint.vocabulary.words)
        if checkpoint.characters is not None:
            _write_lines(partial / CHARACTERS_FILE, checkpoint.characters)
        write_manifest(partial)


def layout(folder: Path) -> Layout:
    """Say how a folder that was read before lies on disk."""
    _, storage = _read_settings(folder / CONFIG_FILE)
    listed = read_json(folder / MANIFEST_FILE)["files"]
    return Layout(storage, {name: facts["size"] for name, facts in listed.items()})


def _check_files(folder: Path, *, softmax: bool) -> set[str]:
    """Check every file against the manifest and give the names that it lists.

    ``softmax=False`` passes over the softmax's own file.
    """
    unchecked = () if softmax else (SOFTMAX_FILE,)
    listed = check_manifest(folder, (CONFIG_FILE, WEIGHTS_FILE), unchecked=unchecked)
    for name in (VOCABULARY_FILE, CHARACTERS_FILE, SOFTMAX_FILE):
        if name not in listed and name not in unchecked and is_file(folder / name):
            raise FormatError(folder / MANIFEST_FILE, "file not listed", key=name)
    return listed


def _read_settings(file: Path) -> tuple[dict[str, Any], Storage]:
    """Read ``config.json`` without its version, and how the tensors are stored."""
    settings = read_json(file)
    version = settings.pop("format_version", None)
    if type(version) is not int or version not in FORMAT_VERSIONS:
        raise FormatError(
            file,
            "unknown version of the format",
            key="format_version",
            found=repr(version),
            expected=" or ".join(map(str, FORMAT_VERSIONS)),
            hint="a newer elmokit may read it",
        )
    if version == 1:
        return settings, "float32"
    try:
        return settings, checked_storage(settings.pop("storage", "float32"))
    except InputError as error:
        raise config_error(file, error) from error


def _read_tensors(file: Path, storage: Storage, *, softmax: bool) -> dict[str, torch.Tensor]:
    stored = {}
    try:
        with safetensors.safe_open(file, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118 - safe_open is no mapping
                if softmax or not name.startswith(_SOFTMAX):
                    stored[name] = opened.get_tensor(name)
    except Exception as error:
        # The manifest has passed, so this is a file that was written wrong.
        raise FormatError(file, f"is not a readable safetensors file ({error})") from error
    return unpack(stored, storage, file=file)


def _read_softmax(
    file: Path, storage: Storage, *, beside: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    tensors = _read_tensors(file, storage, softmax=True)
    for name in tensors:
        if not name.startswith(_SOFTMAX):
            raise FormatError(file, "tensor that is no part of a softmax", key=name)
        if name in beside:
            raise FormatError(file, f"tensor that {WEIGHTS_FILE} has too", key=name)
    return tensors


@contextmanager
def _naming(softmax_file: Path) -> Iterator[None]:
    """Name the file that holds the softmax where an error is about its tensors."""
    try:
        yield
    except FormatError as error:
        if error.key is None or not error.key.startswith(_SOFTMAX):
            raise
        raise FormatError(
            softmax_file,
            error.problem,
            key=error.key,
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error


def _metadata(file: Path, values: Any) -> dict[str, str]:
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise FormatError(file, "wrong content", key="metadata", expected="an object of strings")
    return values


def _read_lines(file: Path) -> list[str]:
    text = read_text(file)
    if text and not text.endswith("\n"):
        raise FormatError(file, "the last line does not end")
    # Only "\n" ends a line: other line separators of Unicode may be words or characters.
    return text.split("\n")[:-1]


def _write_lines(file: Path, lines: tuple[str, ...]) -> None:
    for number, line in enumerate(lines):
        if "\n" in line:
            raise InputError(f"word {number} holds a line end and cannot be written: {line!r}")
    write_text(file, "".join(f"{line}\n" for line in lines))
