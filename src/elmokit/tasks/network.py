"""A task's network: input vectors and the task's own model, and the data they read."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmokit.embed.elmo_layer import ElmoLayer
from elmokit.tasks.inputs.layer_store import LayerStore
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.inputs.text_batch import TextBatch, text_batch
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.task import Labels, Targets, Task, TaskModel, TextVectors

Batch = tuple[list[TextBatch], Targets]
"""The texts of each role and the targets of some examples."""


class TaskNetwork(nn.Module):
    """From batches to losses and predictions.

    The biLM's layers come from a `LayerStore`, or from ``elmo_layer`` where it is trained too.
    """

    def __init__(
        self,
        token_vectors: TokenVectors,
        model: TaskModel,
        *,
        lexicon: Lexicon,
        elmo_layer: ElmoLayer | None = None,
    ) -> None:
        super().__init__()
        self.token_vectors = token_vectors
        self.model = model
        self.elmo_layer = elmo_layer
        self.lexicon = lexicon
        self.store: LayerStore | None = None

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.parameters()).device

    def batch(self, task: Task[Any], examples: Sequence[Any], labels: Labels) -> Batch:
        """Make a batch on the CPU; the layers of its texts must be in the store."""
        texts = [text_batch(role, self.lexicon, self.store) for role in task.texts(examples)]
        return texts, task.targets(examples, labels)

    def losses(self, batch: Batch) -> Tensor:
        """Give the loss of each example (B,)."""
        texts, targets = self._moved(batch)
        return self.model.losses(texts, targets).float()

    def predict(self, batch: Batch) -> list[Any]:
        """Give a prediction for each example."""
        texts, targets = self._moved(batch)
        return self.model.predict(texts, targets)

    def _moved(self, batch: Batch) -> tuple[list[TextVectors], Targets]:
        device = self.device
        forms = self.lexicon.forms(device)
        texts = [self.token_vectors(part.to(device), forms, self._layers) for part in batch[0]]
        return texts, {name: t.to(device, non_blocking=True) for name, t in batch[1].items()}

    def _layers(self, batch: TextBatch) -> Tensor:
        """Give (B, T, L, D)."""
        if self.elmo_layer is not None:
            layers, _ = self.elmo_layer.layers(batch.tokens)
            return torch.stack(layers, dim=2)
        assert self.store is not None
        return self.store.rows(batch.layers)
