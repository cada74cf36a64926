"""A biLM as the training loop sees it: windows of a corpus in, gradients and losses out.

D directions, T steps, B rows of this process, L layers, H cell, P size of a direction
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmokit.corpus.layout import UNKNOWN
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.corpus.streams import DistinctWords, Streams, StreamSettings
from elmokit.errors import InputError
from elmokit.lm.gradients import GraphedGradients, PlainGradients, row_dropout
from elmokit.lm.objective import DIRECTIONS, Batch, BiLMObjective, WindowState
from elmokit.lm.settings import TrainSettings
from elmokit.lm.word_table import WordTable
from elmokit.nn.softmax import sample_candidates
from elmokit.training.distributed import World
from elmokit.training.made_ahead import MadeAhead
from elmokit.training.seeds import mixed_seed

LOSS_NAMES = ("forward_loss", "backward_loss")


class BiLMLearner:
    """Trains an objective on a prepared corpus."""

    def __init__(
        self,
        objective: BiLMObjective,
        table: WordTable,
        corpus: PreparedCorpus,
        settings: TrainSettings,
        *,
        world: World,
        device: torch.device,
        targets: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """``targets`` gives the id to predict of each distinct word of the corpus.

        By default a word's number is its id, up to the size of the softmax.
        """
        split = corpus.split("train")
        if split is None:
            raise InputError(f"{corpus.folder}: the corpus has no text to train on")
        self.objective = objective
        self.table = table
        self.settings = settings
        self.world = world
        self.device = device
        self.streams = Streams(
            split,
            StreamSettings(
                rows=settings.rows,
                steps=settings.window,
                seed=settings.seed,
                document_resets=settings.document_resets,
                sentence_resets=settings.sentence_resets,
            ),
        )
        self._distinct = DistinctWords(corpus.type_count)
        if targets is None:
            targets = np.arange(corpus.type_count, dtype=np.int64)
            targets[objective.softmax.vocabulary_size :] = UNKNOWN
        self._targets = targets
        self._parameters = dict(objective.named_parameters())
        rows = world.share(settings.rows)
        size = (rows.stop - rows.start) // settings.accumulation
        if size == 0 or (rows.stop - rows.start) % settings.accumulation:
            raise InputError(
                f"accumulation: {rows.stop - rows.start} rows of a process cannot be computed in "
                f"{settings.accumulation} equal parts"
            )
        self._parts = [slice(first, first + size) for first in range(rows.start, rows.stop, size)]
        self._states = [objective.zero_state(size) for _ in self._parts]
        self._graphed = self._plain = None
        if device.type == "cuda" and objective.fused:
            self._graphed = GraphedGradients(objective, table, dropout=settings.dropout)
        else:
            self._plain = PlainGradients(objective, table)
        self._made_ahead = MadeAhead(self._make)

    @property
    def parameters(self) -> Mapping[str, nn.Parameter]:
        """What is trained, by name."""
        return self._parameters

    @property
    def done(self) -> bool:
        """A biLM is trained as long as its schedule says."""
        return False

    @property
    def item(self) -> str:
        """What is counted."""
        return "tokens"

    @property
    def items_per_step(self) -> int:
        """Tokens that each direction reads in a step, over all processes."""
        return self.settings.rows * self.settings.window

    @property
    def steps_per_epoch(self) -> int:
        """How many steps read all of the text once."""
        return self.streams.windows_per_epoch

    def gradients(self, step: int) -> Mapping[str, Tensor]:
        """Leave this process's gradients in the parameters and give its losses."""
        settings, parts = self.settings, len(self._parts)
        scale = (settings.window if settings.sum_over_window else 1) / parts
        total = torch.zeros(DIRECTIONS, device=self.device)
        for part, batch in enumerate(self.batches(step)):
            losses, self._states[part] = self._part_gradients(step, part, batch, scale)
            total += losses
        return dict(zip(LOSS_NAMES, total / parts, strict=True))

    def after(self, step: int) -> None:
        """Held-out text is looked at when training has ended."""

    def observations(self) -> Mapping[str, float]:
        """Give the largest values that the LSTMs carry."""
        return {
            "largest_cell": max(float(state.cell.abs().max()) for state in self._states),
            "largest_hidden": max(float(state.hidden.abs().max()) for state in self._states),
        }

    def forget(self) -> None:
        """Let all rows begin anew."""
        self._states = [
            WindowState(*(torch.zeros_like(part) for part in state)) for state in self._states
        ]

    def state(self) -> dict[str, Tensor]:
        """Give the LSTMs' state of all rows of all processes."""
        joined = [torch.cat(parts, dim=2) for parts in zip(*self._states, strict=True)]
        return {
            name: self.world.joined(tensor, dim=2)
            for name, tensor in zip(WindowState._fields, joined, strict=True)
        }

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Take this process's rows of such a state."""
        self._states = [
            WindowState(
                *(tensors[name][:, :, rows].to(self.device) for name in WindowState._fields)
            )
            for rows in self._parts
        ]

    def _part_gradients(
        self, step: int, part: int, batch: Batch, scale: float
    ) -> tuple[Tensor, WindowState]:
        settings, state = self.settings, self._states[part]
        if self._graphed is not None:
            seed = mixed_seed(settings.seed, step, part, self.world.rank)
            return self._graphed(batch, state, seed, scale)
        assert self._plain is not None
        dropout = row_dropout(
            settings.dropout,
            seed=mixed_seed(settings.seed, step),
            rows=self._parts[part],
            all_rows=settings.rows,
        )
        return self._plain(batch.to(self.device), state, dropout, scale)

    def batches(self, step: int) -> list[Batch]:
        """Give the batches of a step, and have the next ones made meanwhile."""
        return self._made_ahead(step)

    def _make(self, step: int) -> list[Batch]:
        window = self.streams.window(step)
        vocabulary_size = self.objective.softmax.vocabulary_size
        targets = self._targets[window.targets]
        samples = tries = None
        if self.settings.samples is not None:
            generator = torch.Generator().manual_seed(mixed_seed(self.settings.seed, step, 1 << 20))
            count = min(self.settings.samples, vocabulary_size)
            drawn = [
                sample_candidates(vocabulary_size, count, generator=generator)
                for _ in range(DIRECTIONS)
            ]
            samples = torch.stack([candidates.ids for candidates in drawn])
            tries = torch.tensor([candidates.tries for candidates in drawn], dtype=torch.float64)
        batches = []
        for rows in self._parts:
            words, index = self._distinct(window.inputs[:, :, rows])
            groups, place = self.table.grouped(words)
            keep = (~window.resets[:, :, rows]).astype(np.float32)
            batch = Batch(
                tuple(torch.from_numpy(group) for group in groups),
                torch.from_numpy(place[index]),
                torch.from_numpy(np.ascontiguousarray(targets[:, :, rows])),
                torch.from_numpy(keep),
                samples,
                tries,
            )
            batches.append(batch if self._graphed is None else self._graphed.staged(batch))
        return batches
