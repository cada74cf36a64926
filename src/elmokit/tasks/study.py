"""Which runs a table needs: variants of a model over seeds, on one data set each."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from elmokit.tasks.datasets import SEEDS, DataSet
from elmokit.tasks.names import task_named
from elmokit.tasks.run import lasting_name
from elmokit.tasks.settings import TaskSettings

Study = Literal["main", "layers", "samples", "tuned"]

BASE, ELMO, TUNED = "base", "elmo", "elmo, tuned"
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
# Of a smaller share a run makes as many steps as of this one, or it ends before it has learnt.
FEWEST_STEPS_AT = 0.05

# The paper's tables 2 and 3. With one layer there is nothing to weigh.
LAYER_VARIANTS = {
    "all layers, l2 1": ("elmo_l2=1.0",),
    "all layers, l2 0.001": ("elmo_l2=0.001",),
    "top layer": ("elmo_layers=[-1]",),
    "at the input": ("elmo_at=input",),
    "at the output": ("elmo_at=output",),
    "at both": ("elmo_at=both",),
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of training."""

    data: DataSet
    variant: str
    elmo: str | None
    changes: tuple[str, ...]
    share: float
    seed: int

    @property
    def key(self) -> str:
        """The job's name, unique in a study."""
        return f"{self.data.task}/{self.data.name}/{self.variant}/{self.share:g}/{self.seed}"

    def settings(self) -> TaskSettings:
        """Give the settings it is run with."""
        defaults = task_named(self.data.task).defaults()
        return defaults.changed([*self.changes, f"seed={self.seed}"])

    @property
    def folder(self) -> str:
        """The name of a folder that no job with other settings or another biLM has."""
        return _folder(self.key, self.identity)

    @property
    def is_tuned(self) -> bool:
        """Whether the biLM is first trained on with the text of the data."""
        return self.variant == TUNED

    @property
    def tuned_folder(self) -> str:
        """The name of a folder for that biLM; one with another beginning has another."""
        return _folder(f"{self.data.task}/{self.data.name}", self.bilm)

    @property
    def identity(self) -> str:
        """What decides about the result; variants of several studies may be the same run."""
        settings = self.settings().to_dict()
        return json.dumps([self.data.task, self.data.name, self.share, self.bilm, settings])

    @property
    def bilm(self) -> str:
        """The biLM's name in records; a tuned one is the same wherever it was made."""
        name = lasting_name(self.elmo)
        return f"{name} tuned on {self.data.task}/{self.data.name}" if self.is_tuned else name

    def is_done_by(self, record: dict[str, Any]) -> bool:
        """Tell whether a record of an earlier run is what this job would give.

        Settings that did not exist when it was made have their defaults, which change nothing.
        """
        own = {"task": self.data.task, "data": self.data.name, "share": self.share}
        if {key: record[key] for key in own} != own or record["elmo"] != self.bilm:
            return False
        settings = self.settings()
        return settings.from_dict(record["settings"]) == settings


def jobs_of(
    study: Study,
    data: Iterable[DataSet],
    *,
    elmo: str,
    seeds: int | None = None,
    changes: tuple[str, ...] = (),
) -> list[Job]:
    """List the runs of a study, the first seed of everything first.

    Without ``seeds`` there are three of each variant, in the main study as many as a data set says.
    """
    seeded = [
        (seed, one)
        for one in data
        for seed in range(_seeds(study, one) if seeds is None else seeds)
    ]
    jobs = []
    for seed, one in sorted(seeded, key=lambda pair: pair[0]):
        for variant, extra, share in _variants(study):
            own = one.base_changes if variant == BASE else ()
            wanted = (*own, *changes, *extra)  # of two for one setting the later one holds
            jobs.append(
                Job(
                    data=one,
                    variant=variant,
                    elmo=None if variant == BASE else elmo,
                    changes=(*wanted, *_more_epochs(one.task, wanted, share)),
                    share=share,
                    seed=seed,
                )
            )
    return jobs


def _seeds(study: Study, data: DataSet) -> int:
    return data.main_seeds if study == "main" else SEEDS


def _variants(study: Study) -> list[tuple[str, tuple[str, ...], float]]:
    if study == "layers":
        return [(name, extra, 1.0) for name, extra in LAYER_VARIANTS.items()]
    shares = (*SHARES, 1.0) if study == "samples" else (1.0,)
    variants = (BASE, ELMO, TUNED) if study == "tuned" else (BASE, ELMO)
    return [(variant, (), share) for share in shares for variant in variants]


def _folder(name: str, identity: str) -> str:
    """Give a name that can be read, and that nothing of another identity has."""
    readable = name.replace("/", "_").replace(" ", "-")
    return f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _more_epochs(task: str, changes: tuple[str, ...], share: float) -> tuple[str, ...]:
    """Give the changes that let a run on a small share make enough steps."""
    factor = FEWEST_STEPS_AT / share
    if factor <= 1:
        return ()
    recipe = task_named(task).defaults().changed(list(changes)).recipe
    longer = {"epochs": round(recipe.epochs * factor), "warm_up": recipe.warm_up * factor}
    if recipe.patience is not None:
        longer["patience"] = round(recipe.patience * factor)
    return tuple(f"{name}={value}" for name, value in longer.items())
