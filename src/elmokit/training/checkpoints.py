"""Checkpoints that are whole or not there, and the last few of them kept.

A checkpoint is a folder ``step-00001000`` with ``state.safetensors`` (every tensor),
``progress.json`` (plain facts) and ``manifest.json`` (sizes and SHA-256 of both). It is written
beside, synced and renamed, so that a process killed at any moment leaves the one before.
"""

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from elmokit.errors import FormatError, InputError
from elmokit.files import (
    check_manifest,
    read_json,
    replacing_folder,
    write_json,
    write_manifest,
)

STATE_FILE = "state.safetensors"
PROGRESS_FILE = "progress.json"
FORMAT_VERSION = 1

# Room on the disk that is never used up.
SPARE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class TrainingState:
    """Everything that a run needs to go on exactly."""

    step: int
    """Steps done."""
    tensors: dict[str, Tensor]
    """Weights, optimiser, carried states: by name."""
    facts: dict[str, Any]
    """Plain values, such as the settings of the run."""


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def prepare(self) -> None:
        """Make the folder, and clear away what a killed process left half done."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for stray in self.folder.glob(".*.partial*"):
                shutil.rmtree(stray)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written to ({error.strerror})") from error

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint, then forget the oldest ones beyond ``keep``."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in state.tensors.values())
        self.check_space(size)
        try:
            with replacing_folder(self._place(state.step), overwrite=True) as partial:
                safetensors.torch.save_file(
                    {name: t.detach().cpu().contiguous() for name, t in state.tensors.items()},
                    partial / STATE_FILE,
                )
                progress = {
                    "format_version": FORMAT_VERSION, "step": state.step, "facts": state.facts,
                }  # fmt: skip
                write_json(partial / PROGRESS_FILE, progress)
                write_manifest(partial)
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(
                f"{self.folder}: the checkpoint of step {state.step} could not be written "
                f"({error}); make room or choose another disk, then start the same command "
                f"again: it goes on from {self._newest_name()}"
            ) from error
        for step in self.steps()[: -self.keep]:
            shutil.rmtree(self._place(step))

    def check_space(self, size: int) -> None:
        """Raise an error where a checkpoint of ``size`` bytes has no room."""
        free = shutil.disk_usage(self.folder).free
        if free < size + SPARE_BYTES:
            raise InputError(
                f"{self.folder}: a checkpoint takes {size / 2**20:.0f} MB and "
                f"{free / 2**20:.0f} MB are free ({errno.errorcode[errno.ENOSPC]}); make room or "
                f"choose another disk, then start the same command again: it goes on from "
                f"{self._newest_name()}"
            )

    def steps(self) -> list[int]:
        """List the steps that have a checkpoint, in rising order."""
        names = [entry.name for entry in self.folder.glob("step-*")]
        return sorted(int(name[5:]) for name in names if name[5:].isdigit())

    def load(self) -> TrainingState | None:
        """Read the newest checkpoint; None where there is none."""
        steps = self.steps()
        if not steps:
            return None
        place = self._place(steps[-1])
        try:
            check_manifest(place, (STATE_FILE, PROGRESS_FILE))
            progress = read_json(place / PROGRESS_FILE)
            if progress.get("format_version") != FORMAT_VERSION:
                raise FormatError(
                    place / PROGRESS_FILE,
                    "unknown version of the format",
                    found=repr(progress.get("format_version")),
                    expected=FORMAT_VERSION,
                )
            tensors = safetensors.torch.load_file(place / STATE_FILE)
        except FormatError as error:
            raise FormatError(
                place,
                f"the checkpoint is damaged: {error}",
                hint=f"delete this folder to go on from {self._name_before(steps)}",
            ) from error
        return TrainingState(int(progress["step"]), tensors, progress["facts"])

    def _place(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _newest_name(self) -> str:
        steps = self.steps()
        return f"step {steps[-1]}" if steps else "the beginning"

    def _name_before(self, steps: list[int]) -> str:
        return f"step {steps[-2]}" if len(steps) > 1 else "the beginning"
