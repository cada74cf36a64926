"""The loop: gradients, check, update, log, save, until the steps are done or someone stops it.

A step is a function of the state before it and its number, so a run that goes on from a
checkpoint is the run that was never stopped.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.training.checkpoints import Checkpoints, TrainingState, clear_strays
from elmokit.training.distributed import World
from elmokit.training.interruption import stop_wish
from elmokit.training.journal import Journal, LiveLine
from elmokit.training.optimiser import (
    MOMENTS,
    OptimiserName,
    build_optimiser,
    load_optimiser_tensors,
    optimiser_tensors,
    set_learning_rate,
)
from elmokit.training.schedule import Schedule

CHECKPOINT_FOLDER = "checkpoints"
LOG_FILE = "log.jsonl"

# So many steps in a row without a finite loss and gradient end a run.
MOST_BAD_STEPS = 20

Ending = Literal["finished", "stopped", "out of time"]


class Learner(Protocol):
    """Something to train."""

    @property
    def parameters(self) -> Mapping[str, nn.Parameter]:
        """What is trained, by name."""

    @property
    def done(self) -> bool:
        """Whether the run ends here, before the schedule does."""

    @property
    def item(self) -> str:
        """What is counted, as ``tokens``."""

    @property
    def items_per_step(self) -> int:
        """How many of them all processes see in a step."""

    @property
    def steps_per_epoch(self) -> int:
        """How many steps see all of the data once."""

    def gradients(self, step: int) -> Mapping[str, Tensor]:
        """Leave this process's gradients in the parameters and give its losses by name."""

    def after(self, step: int) -> None:
        """Do what is due when ``step`` steps are done, such as to look at held-out data."""

    def observations(self) -> Mapping[str, float]:
        """Give more facts for the log, such as the largest values of a state."""

    def forget(self) -> None:
        """Drop what is carried from step to step, because it may not be finite."""

    def state(self) -> dict[str, Tensor]:
        """Give what is carried from step to step, of all processes together."""

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Put such a state back."""


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """How a run is conducted."""

    schedule: Schedule
    """Learning rates and the number of steps."""
    optimiser: OptimiserName = "adamw"
    """The rule of the update."""
    weight_decay: float = 0.0
    """Share of the weights taken off per step and learning rate (AdamW)."""
    beta2: float = 0.999
    """How slowly AdamW forgets squared gradients."""
    clip: float | None = None
    """Gradients whose joint norm is above this are scaled down to it."""
    log_every: int = 10
    """Steps between two records of the log."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """How many checkpoints are kept."""
    minutes: float | None = None
    """The run saves and ends after so much time; started again it goes on."""

    def __post_init__(self) -> None:
        for name in ("log_every", "save_every", "keep"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"minutes: expected a number above 0, found {self.minutes!r}")


class Loop:
    """One run of training in a folder."""

    def __init__(
        self,
        learner: Learner,
        settings: LoopSettings,
        folder: Path,
        *,
        facts: Mapping[str, Any],
        world: World | None = None,
        line: LiveLine | None = None,
        tensorboard: bool = False,
        since: float | None = None,
    ) -> None:
        """``since`` is the `time.monotonic` from which the minutes of the run count; None: now."""
        self.learner = learner
        self.settings = settings
        self.world = world or World()
        self.line = line or LiveLine(quiet=True)
        self.facts = dict(facts)
        self.checkpoints = Checkpoints(folder / CHECKPOINT_FOLDER, keep=settings.keep)
        board = folder / "tensorboard" if tensorboard and self.world.is_first else None
        with self.world.together():
            if self.world.is_first:
                self.checkpoints.prepare()
                clear_strays(folder)
            self.journal = Journal(folder / LOG_FILE, tensorboard=board)
        self.optimiser = build_optimiser(
            settings.optimiser,
            learner.parameters,
            weight_decay=settings.weight_decay,
            beta2=settings.beta2,
        )
        self.step = 0
        self._bad_steps = 0
        self._sums: dict[str, float] = {}
        self._summed = 0
        self._started = time.monotonic()
        self._since = self._started if since is None else since
        self._seconds_before = 0.0
        self._mark = (self._started, 0)

    @property
    def seconds(self) -> float:
        """Time that the run has taken, that of earlier processes included."""
        return self._seconds_before + time.monotonic() - self._started

    def resume(self) -> int:
        """Go to the newest checkpoint and give its step; 0 where there is none."""
        with self.world.together():
            state = self.checkpoints.load()
            if state is not None:
                _check_facts(self.facts, state.facts, self.checkpoints.folder)
                self._load(state)
            if self.world.is_first and self.step < self.settings.schedule.steps:
                self.checkpoints.check_space_of_run(self._size_of_state())
        found = {step for (step,) in self.world.of_all([self.step])}
        if len(found) > 1:
            raise InputError(
                f"{self.checkpoints.folder}: processes find checkpoints of different steps "
                f"{sorted(found)}; the folder must be on a disk that all machines share"
            )
        if self.world.is_first:
            self.journal.rewind(self.step)
        self._mark = (time.monotonic(), self.step)
        return self.step

    def run(self) -> Ending:
        """Train until the end, a signal, or the time limit; in any case everything is saved."""
        steps = self.settings.schedule.steps
        with stop_wish() as wish:
            while self.step < steps and not self.learner.done:
                wishes = self.world.of_all([wish.stop, self._late()])
                stop, late = (any(column) for column in zip(*wishes, strict=True))
                if stop or late:
                    self.save()
                    self.journal.close()
                    return "stopped" if stop else "out of time"
                self.advance()
                self.learner.after(self.step)
                if self.step % self.settings.log_every == 0 or self.step == steps:
                    self._log()
                if self.step % self.settings.save_every == 0:
                    self.save()
        self.save()
        self.journal.close()
        return "finished"

    def save(self) -> None:
        """Write a checkpoint of this moment."""
        self._log()
        carried = self.learner.state()
        with self.world.together():
            if self.world.is_first:
                self.checkpoints.save(self._state(carried))

    def _state(self, carried: Mapping[str, Tensor]) -> TrainingState:
        parameters = self.learner.parameters
        tensors: dict[str, Tensor] = {f"weights/{n}": p for n, p in parameters.items()}
        optimiser = optimiser_tensors(self.optimiser, parameters)
        tensors |= {f"optimiser/{name}": tensor for name, tensor in optimiser.items()}
        tensors |= {f"carried/{name}": tensor for name, tensor in carried.items()}
        facts = {**self.facts, "bad_steps": self._bad_steps, "seconds": self.seconds}
        return TrainingState(self.step, tensors, facts)

    def _size_of_state(self) -> int:
        """Give about the bytes of a checkpoint."""
        weights = sum(p.numel() * p.element_size() for p in self.learner.parameters.values())
        return weights * (1 + MOMENTS[self.settings.optimiser])

    def _load(self, state: TrainingState) -> None:
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "optimiser": {}, "carried": {}}
        for key, tensor in state.tensors.items():
            part, name = key.split("/", 1)
            parts[part][name] = tensor
        parameters = self.learner.parameters
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(parts["weights"][name])
        load_optimiser_tensors(self.optimiser, parameters, parts["optimiser"])
        self.learner.load_state(parts["carried"])
        self._bad_steps = int(state.facts["bad_steps"])
        self._seconds_before = float(state.facts["seconds"])
        self.step = state.step

    def advance(self) -> None:
        """Do one step."""
        parameters = list(self.learner.parameters.values())
        self.optimiser.zero_grad(set_to_none=True)
        losses = self.learner.gradients(self.step)
        gradients = [p.grad for p in parameters if p.grad is not None]
        values = torch.stack([loss.detach().float() for loss in losses.values()])
        self.world.average_([*gradients, values])
        norm = torch.nn.utils.get_total_norm(gradients)
        numbers = torch.cat([values, norm[None].to(values)]).tolist()
        rate = self.settings.schedule.rate(self.step)
        finite = all(map(math.isfinite, numbers))
        if finite:
            if self.settings.clip is not None:
                torch.nn.utils.clip_grads_with_norm_(parameters, self.settings.clip, norm)
            set_learning_rate(self.optimiser, rate)
            self.optimiser.step()
        self.step += 1
        self._note(finite, dict(zip([*losses, "gradient_norm"], numbers, strict=True)))

    def _note(self, finite: bool, numbers: dict[str, float]) -> None:
        if finite:
            self._bad_steps = 0
            for name, number in numbers.items():
                self._sums[name] = self._sums.get(name, 0.0) + number
            self._summed += 1
            return
        self._bad_steps += 1
        self.learner.forget()
        if self.world.is_first:
            self.journal.write({"step": self.step, "left_out": self._bad_steps})
        found = ", ".join(f"{name} {number}" for name, number in numbers.items())
        self.line.say(f"step {self.step}: not finite ({found}); the step is left out")
        if self._bad_steps >= MOST_BAD_STEPS:
            raise InputError(
                f"training has diverged: {self._bad_steps} steps in a row without a finite loss "
                f"and gradient ({found}). The checkpoints before are unharmed; try a lower "
                "learning_rate, a lower clip or a longer warm_up"
            )

    def _log(self) -> None:
        """Write what has gathered since the last record."""
        if not self._summed:
            return
        now = time.monotonic()
        then, step = self._mark
        speed = (self.step - step) * self.learner.items_per_step / max(now - then, 1e-9)
        left = self.settings.schedule.steps - self.step
        record = {
            "step": self.step,
            "epoch": self.step / self.learner.steps_per_epoch,
            **{name: total / self._summed for name, total in self._sums.items()},
            "learning_rate": self.settings.schedule.rate(self.step - 1),
            "items_per_second": speed,
            "seconds_left": left * self.learner.items_per_step / max(speed, 1e-9),
            **self.learner.observations(),
        }
        self._mark, self._sums, self._summed = (now, self.step), {}, 0
        if self.world.is_first:
            self.journal.write(record)
            self.line.show(_as_line(record, self.settings.schedule.steps, self.learner.item))

    def _late(self) -> bool:
        minutes = self.settings.minutes
        return minutes is not None and time.monotonic() - self._since > 60 * minutes


def _check_facts(own: Mapping[str, Any], saved: Mapping[str, Any], folder: Path) -> None:
    """A run goes on only as it was begun."""
    now, before = _leaves(own), _leaves({name: saved.get(name) for name in own})
    for key in [*now, *before]:
        if now.get(key) != before.get(key):
            raise InputError(
                f"{folder} belongs to a run with {key} = {before.get(key)!r}, found "
                f"{now.get(key)!r}; start it with the same settings, or begin a new run in another "
                "folder"
            )


def _leaves(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Give ``{"model": {"layers": 2}}`` as ``{"model.layers": 2}``."""
    leaves: dict[str, Any] = {}
    for name, value in facts.items():
        inner = isinstance(value, Mapping)
        leaves |= _leaves(value, f"{prefix}{name}.") if inner else {prefix + name: value}
    return leaves


def _as_line(record: Mapping[str, float | int], steps: int, item: str) -> str:
    losses = " ".join(f"{k[:-5]} {v:.3f}" for k, v in record.items() if k.endswith("_loss"))
    return (
        f"step {record['step']}/{steps} epoch {record['epoch']:.2f} loss {losses} "
        f"rate {record['learning_rate']:.2e} gradient {record['gradient_norm']:.2f} "
        f"{record['items_per_second']:,.0f} {item}/s {_duration(record['seconds_left'])} left"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
