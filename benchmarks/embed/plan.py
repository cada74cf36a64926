"""What is measured, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embed.contenders import Contender
from embed.environments import Environments
from embed.protocol import Sentences


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What holds for all sizes."""

    contenders: Sequence[Contender]
    """Who takes part."""
    environments: Environments
    """Where the peers' Pythons are."""
    text: Sentences
    """What is embedded."""
    work: Path
    """Folder for weights, vectors and what the workers print."""
    device: str
    """``cpu`` or ``cuda``."""
    threads: int
    """Threads of every contender."""
    batches: Sequence[int]
    """Batch sizes of the peers."""
    rounds: int
    """How often everything is timed."""
    seconds: float
    """A run in batches takes a part of the text that lasts about so long; 0: all of it."""
    singles: int
    """Sentences of a run one at a time."""
    agreement_sentences: int
    """Sentences whose vectors are compared, from the beginning of the text."""
    gigabytes: float
    """Memory that the contenders of a group may take together."""

    @property
    def text_file(self) -> Path:
        """Where the workers find the text."""
        return self.work / "text.json"

    @property
    def compared(self) -> list[int]:
        """The sentences of the agreement."""
        return list(range(min(len(self.text), self.agreement_sentences)))


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to run a contender over the text."""

    name: str
    """Its name in JSON."""
    batch: int | None
    """Sentences in a batch; None: all in one call, batched as the contender likes."""
    forget: bool = False
    """Whether words seen before are forgotten first."""


def settings_of(contender: Contender, batches: Sequence[int], *, again: bool) -> list[Setting]:
    """List the settings in their order: known words are those that the runs before have met.

    ``again`` is for the reference in a later group, where it only ties the groups together.
    """
    own, single = Setting(name="own", batch=None), Setting(name="single", batch=1)
    if again:
        return [own, single]
    in_batches = [Setting(name=f"batch-{size}", batch=size) for size in batches]
    if not contender.is_ours:
        return [single, *in_batches]
    return [
        Setting(name="single-new", batch=1, forget=True),
        Setting(name="own-new", batch=None, forget=True),
        own,
        single,
        *in_batches,
    ]
