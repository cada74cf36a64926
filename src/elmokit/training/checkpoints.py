"""Checkpoints that are whole or not there, and the last few of them kept.

A checkpoint is a folder ``step-00001000`` with ``state.safetensors`` (every tensor),
``progress.json`` (plain facts) and ``manifest.json`` (sizes and SHA-256 of both). It is written
beside, synced and renamed, so that a process killed at any moment leaves the one before.
"""

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


def clear_strays(folder: Path) -> None:
    """Remove what killed processes left half written or half removed anywhere in a folder."""
    for stray in [*folder.rglob(".*.partial"), *folder.rglob(".*.old")]:
        if stray.is_dir():
            shutil.rmtree(stray)
        else:
            stray.unlink(missing_ok=True)


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def prepare(self) -> None:
        """Make the folder, see that it can be written to, and clear away what is half done."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            clear_strays(self.folder)
            self._forget_old()
            # Better refused now than when there is something to save.
            probe = self.folder / ".probe.partial"
            probe.mkdir()
            probe.rmdir()
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be written to ({error.strerror}); choose another folder or "
                "allow writing there"
            ) from error

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint if there is none of its step, then forget those beyond ``keep``."""
        if state.step in self.steps():
            return
        size = sum(tensor.numel() * tensor.element_size() for tensor in state.tensors.values())
        self.check_space(size)
        try:
            with replacing_folder(self._place(state.step), overwrite=False) as partial:
                safetensors.torch.save_file(
                    {name: t.detach().cpu().contiguous() for name, t in state.tensors.items()},
                    partial / STATE_FILE,
                )
                progress = {
                    "format_version": FORMAT_VERSION, "step": state.step, "facts": state.facts,
                }  # fmt: skip
                write_json(partial / PROGRESS_FILE, progress)
                write_manifest(partial)
            self._forget_old()
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(
                f"{self.folder}: the checkpoint of step {state.step} could not be written "
                f"({error}); make room or choose another disk, then start the same command "
                f"again: it goes on from {self._newest_name()}"
            ) from error

    def check_space(self, size: int, *, count: int = 1) -> None:
        """Raise an error where ``count`` checkpoints of ``size`` bytes have no room."""
        free = shutil.disk_usage(self.folder).free
        if free < size * count + SPARE_BYTES:
            raise InputError(
                f"{self.folder}: the disk is full: checkpoints need {size * count / 2**20:.0f} MB "
                f"more and {free / 2**20:.0f} MB are free; make room or choose another disk, then "
                f"start the same command again: it goes on from {self._newest_name()}"
            )

    def check_space_of_run(self, size: int) -> None:
        """The same for all checkpoints that a run will keep and the one it writes meanwhile."""
        self.check_space(size, count=max(1, self.keep + 1 - len(self.steps())))

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
                f"the checkpoint is damaged ({error.file.name}: {error.problem})",
                hint=f"delete this folder to go on from {self._name_before(steps)}",
            ) from error
        return TrainingState(int(progress["step"]), tensors, progress["facts"])

    def _forget_old(self) -> None:
        for step in self.steps()[: -self.keep]:
            # The name goes first, so that a checkpoint is never half there.
            place = self._place(step)
            shutil.rmtree(place.rename(self.folder / f".{place.name}.partial"))

    def _place(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _newest_name(self) -> str:
        steps = self.steps()
        return f"step {steps[-1]}" if steps else "the beginning"

    def _name_before(self, steps: list[int]) -> str:
        return f"step {steps[-2]}" if len(steps) > 1 else "the beginning"
