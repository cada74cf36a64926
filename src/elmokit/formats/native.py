"""elmokit's own format: a folder that says what it is and proves it is unharmed.

``config.json``          the `ModelConfig`, free facts about the model, the format's version
``model.safetensors``    the tensors of `expected_tensors`, and a start state where there is one
``vocabulary.txt``       one word a line, in the order of ids (word input or softmax)
``characters.txt``       one character a line (models with a character dictionary)
``manifest.json``        size and SHA-256 of each of the files above
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from elmokit.config import ModelConfig
from elmokit.errors import FormatError, InputError
from elmokit.files import (
    is_file,
    read_json,
    read_text,
    replacing_folder,
    sha256_of,
    write_json,
    write_text,
)
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint, config_error
from elmokit.text.vocabulary import Vocabulary

NAME = "native"
FORMAT_VERSION = 1

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
VOCABULARY_FILE = "vocabulary.txt"
CHARACTERS_FILE = "characters.txt"
MANIFEST_FILE = "manifest.json"


def read(folder: Path, *, softmax: bool = True) -> Checkpoint:
    """Read a native folder; every file of the manifest is checked first."""
    listed = check_manifest(folder)
    config_file = folder / CONFIG_FILE
    settings = read_json(config_file)
    version = settings.pop("format_version", None)
    if type(version) is not int or version != FORMAT_VERSION:
        raise FormatError(
            config_file,
            "unknown version of the format",
            key="format_version",
            found=repr(version),
            expected=FORMAT_VERSION,
            hint="a newer elmokit may read it",
        )
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
    weights_file = folder / WEIGHTS_FILE
    return Checkpoint(
        config=config,
        tensors=_read_tensors(weights_file, softmax=softmax),
        vocabulary=vocabulary,
        characters=characters,
        metadata=metadata,
        source_format=NAME,
    ).validated(
        weights_file,
        config_file=config_file,
        vocabulary_file=None if vocabulary is None else folder / VOCABULARY_FILE,
        characters_file=folder / CHARACTERS_FILE,
    )


def write(checkpoint: Checkpoint, folder: Path, *, overwrite: bool = False) -> None:
    """Write a native folder; it appears whole or not at all."""
    with replacing_folder(folder, overwrite=overwrite, replaceable=MODEL_FILES) as partial:
        write_json(
            partial / CONFIG_FILE,
            {
                "format_version": FORMAT_VERSION,
                "metadata": checkpoint.metadata,
                "model": checkpoint.config.to_dict(),
            },
        )
        tensors = {name: tensor.contiguous() for name, tensor in checkpoint.tensors.items()}
        safetensors.torch.save_file(tensors, partial / WEIGHTS_FILE)
        if checkpoint.vocabulary is not None:
            _write_lines(partial / VOCABULARY_FILE, checkpoint.vocabulary.words)
        if checkpoint.characters is not None:
            _write_lines(partial / CHARACTERS_FILE, checkpoint.characters)
        files = {
            file.name: {"size": file.stat().st_size, "sha256": sha256_of(file)}
            for file in sorted(partial.iterdir())
        }
        write_json(partial / MANIFEST_FILE, {"files": files})


def check_manifest(folder: Path) -> set[str]:
    """Check every file against the manifest and give the names that it lists."""
    manifest = folder / MANIFEST_FILE
    listed = read_json(manifest).get("files")
    if not isinstance(listed, dict):
        raise FormatError(manifest, "wrong content", key="files", expected="an object")
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        if name not in listed:
            raise FormatError(manifest, "file not listed", key=name)
    for name in (VOCABULARY_FILE, CHARACTERS_FILE):
        if name not in listed and is_file(folder / name):
            raise FormatError(manifest, "file not listed", key=name)
    for name, facts in listed.items():
        if Path(name).name != name:
            raise FormatError(manifest, "file outside the folder", key=name)
        if not isinstance(facts, dict) or not {"size", "sha256"} <= facts.keys():
            raise FormatError(manifest, "wrong content", key=name, expected="size and sha256")
        file = folder / name
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
    return set(listed)


def _read_tensors(file: Path, *, softmax: bool) -> dict[str, torch.Tensor]:
    tensors = {}
    try:
        with safetensors.safe_open(file, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 - safe_open is no mapping
                if softmax or not name.startswith("softmax."):
                    tensors[name] = stored.get_tensor(name)
    except Exception as error:
        # The manifest has passed, so this is a file that was written wrong.
        raise FormatError(file, f"is not a readable safetensors file ({error})") from error
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            raise FormatError(
                file, "wrong number type", key=name, found=tensor.dtype, expected=torch.float32
            )
    return tensors


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
