"""A task's network: input vectors and the task's own model, and the data they read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.embed.elmo_layer import ElmoLayer
from elmokit.tasks.inputs.layer_store import LayerStore
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.inputs.text_batch import TextBatch, in_capitals, text_batch
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.task import Labels, Targets, Task, TaskModel, TextVectors, Tokens


class Batch(NamedTuple):
    """Some examples as numbers."""

    texts: list[TextBatch]
    """The texts of each role."""
    targets: Targets

    def tensors(self) -> list[Tensor]:
        """Give all numbers."""
        texts = [part for text in self.texts for part in (text.forms, text.layers)]
        return [*texts, *self.targets.values()]

    def to(self, device: torch.device) -> "Batch":
        """Bring the numbers to a device without waiting for it."""
        return Batch(
            [text.to(device) for text in self.texts],
            {name: t.to(device, non_blocking=True) for name, t in self.targets.items()},
        )

    def pinned(self) -> "Batch":
        """Bring the numbers where a GPU fetches them fastest."""
        return Batch(
            [
                text._replace(forms=text.forms.pin_memory(), layers=text.layers.pin_memory())
                for text in self.texts
            ],
            {name: tensor.pin_memory() for name, tensor in self.targets.items()},
        )


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

    def batch(
        self,
        task: Task[Any],
        examples: Sequence[Any],
        labels: Labels,
        *,
        rounded: bool = False,
        capitals: Sequence[bool] | None = None,
    ) -> Batch:
        """Make a batch on the CPU; the layers of its texts must be in the store.

        With ``rounded`` texts are padded to one of a few lengths. ``capitals`` says which examples
        are read as if they were written in capitals.
        """
        roles = task.texts(examples)
        if capitals is not None:
            roles = [_partly_in_capitals(role, examples, capitals) for role in roles]
        texts = [text_batch(role, self.lexicon, self.store, rounded=rounded) for role in roles]
        targets = task.targets(examples, labels)
        if rounded:
            width = texts[0].forms.shape[1]
            targets = {name: _padded(tensor, width) for name, tensor in targets.items()}
        return Batch(texts, targets)

    def losses(self, batch: Batch) -> Tensor:
        """Give the loss of each example (B,) of a batch on the network's device."""
        return self.model.losses(self._vectors(batch), batch.targets).float()

    def predict(self, batch: Batch) -> list[Any]:
        """Give a prediction for each example."""
        return self.model.predict(self._vectors(batch), batch.targets)

    def _vectors(self, batch: Batch) -> list[TextVectors]:
        forms = self.lexicon.forms(self.device)
        return [self.token_vectors(text, forms, self._layers) for text in batch.texts]

    def _layers(self, batch: TextBatch) -> Tensor:
        """Give (B, T, L, D)."""
        if self.elmo_layer is not None:
            layers, _ = self.elmo_layer.layers(batch.tokens)
            return torch.stack(layers, dim=2)
        assert self.store is not None
        return self.store.rows(batch.layers)


def _partly_in_capitals(
    role: Sequence[Tokens], examples: Sequence[Any], capitals: Sequence[bool]
) -> list[Tokens]:
    """Change the texts of some examples, each of which has as many."""
    each = len(role) // len(examples)
    return [in_capitals(t) if capitals[place // each] else t for place, t in enumerate(role)]


def _padded(target: Tensor, width: int) -> Tensor:
    """Pad what has a value for each token, as `Task.targets` says it is padded."""
    if target.ndim < 2 or target.shape[1] == width:
        return target
    fill = False if target.dtype == torch.bool else -1
    return F.pad(target, (0, width - target.shape[1]), value=fill)
