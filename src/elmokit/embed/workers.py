"""The same model in several processes, on several devices or on the cores of one machine."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.processes.pool import ProcessPool

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo

# Windows that wait for each process, so that none waits for the reader.
WINDOWS_AHEAD = 2


class Workers:
    """Processes that hold a copy of a model each; they end with this object or the program."""

    def __init__(self, elmo: "Elmo", devices: Sequence[str]) -> None:
        self.devices = tuple(devices)
        # Through files, which processes map into memory once for all of them.
        self._folder = TemporaryDirectory(prefix="elmokit-")
        model = Path(self._folder.name) / "model"
        elmo.save(model)
        threads = max(1, torch.get_num_threads() // len(self.devices))
        self._pool = ProcessPool(
            "elmokit.embed.worker",
            [[str(model), device, elmo.dtype, elmo.start, str(threads)] for device in devices],
            advice="try fewer processes (workers, --workers in the shell)",
        )

    def close(self) -> None:
        """End the processes, whatever they do."""
        self.devices = ()  # nobody shall take them up again
        self._pool.close()
        self._folder.cleanup()

    def embed(
        self, windows: Iterable[list[list[str]]], *, layers: Layers, batch_tokens: int
    ) -> Iterator[list[Vectors]]:
        """Give the arrays of each window, in order; who leaves before the end ends the processes.

        They would compute what nobody wants, and the program could not end before that.
        """
        questions = ((window, layers, batch_tokens) for window in windows)
        try:
            yield from self._pool.ask(questions, ahead=WINDOWS_AHEAD * len(self.devices))
        except BaseException:  # which leaving early is as well
            self.close()
            raise
