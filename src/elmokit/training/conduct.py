"""What changes nothing about the result of a run: where it is computed, how often it saves."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from elmokit.errors import InputError
from elmokit.training.distributed import own_device, world
from elmokit.training.run_lock import run_lock


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """What changes nothing about the result of a run."""

    device: str = "auto"
    """``auto``, ``cpu`` or ``cuda``."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """How many checkpoints are kept."""
    log_every: int = 10
    """Steps between two records of the log."""
    minutes: float | None = None
    """Save and end after so much time; started again the run goes on."""
    tensorboard: bool = False
    """Whether to write TensorBoard files too."""
    fused: bool = True
    """Whether to use the fast way of computing; the plain one is for comparison."""
    quiet: bool = False
    """Whether to say nothing while it runs."""


@contextmanager
def locked_run(run_folder: Path, conduct: Conduct) -> Iterator[None]:
    """Have a run's folder for this run alone; where it is taken, all processes fail."""
    with ExitStack() as held:
        try:
            held.enter_context(run_lock(run_folder))
        except InputError:
            # The others wait for this one at the beginning of the run.
            with world(own_device(conduct.device)) as everyone, everyone.together():
                raise
        yield
