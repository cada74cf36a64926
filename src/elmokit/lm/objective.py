"""What pretraining makes smaller: the mean loss of both directions over a window of text.

D directions, T steps, B rows, U distinct words, L layers, H cell, P size of a direction,
S sampled words
"""

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.engine.softmax_loss import softmax_loss
from elmokit.engine.window_lstm import LayerLimits, LayerOutput, LayerWeights, run_layer
from elmokit.lm.word_table import WordTable
from elmokit.nn.bilm import BiLM
from elmokit.nn.projected_lstm import ProjectedLSTM
from elmokit.nn.softmax import Candidates, LanguageModelSoftmax

DIRECTIONS = 2

Dropout = Callable[[Tensor], Tensor]
"""Drops numbers of a (D, T, B, P) tensor."""


class WindowState(NamedTuple):
    """What the rows remember between two windows."""

    cell: Tensor
    """(L, D, B, H) float32"""
    hidden: Tensor
    """(L, D, B, P) float32: before any skip connection."""


class Batch(NamedTuple):
    """A window of text as tensors."""

    words: tuple[Tensor, ...]
    """Numbers of the distinct words among the inputs, in the groups of a `WordTable`."""
    places: Tensor
    """(D, T, B): which of them, counted over all groups, stands where."""
    targets: Tensor
    """(D, T, B) ids of the words to predict."""
    keep: Tensor
    """(D, T, B) float32: 0 where a row forgets its state before it reads on, else 1."""
    samples: Tensor | None = None
    """(D, S) ids of the words drawn for a sampled softmax."""
    tries: Tensor | None = None
    """(D,) float64: how many draws it took."""

    def to(self, device: torch.device) -> "Batch":
        """Give the same batch on a device."""
        return Batch(
            tuple(group.to(device) for group in self.words),
            self.places.to(device),
            self.targets.to(device),
            self.keep.to(device),
            None if self.samples is None else self.samples.to(device),
            None if self.tries is None else self.tries.to(device),
        )


class Losses(NamedTuple):
    """A window's losses and the state it leaves behind."""

    mean: Tensor
    """Of both directions; what is differentiated."""
    of_directions: Tensor
    """(D,) float32 means, without gradient."""
    state: WindowState
    """The rows' state for the next window, without gradient."""


class BiLMObjective(nn.Module):
    """A biLM and its softmax as something to train."""

    def __init__(
        self,
        *,
        bilm: BiLM,
        softmax: LanguageModelSoftmax,
        dtype: torch.dtype = torch.float32,
        fused: bool = True,
    ) -> None:
        """``fused=False`` goes the plain way through `nn`, step by step under autograd."""
        super().__init__()
        self.bilm = bilm
        self.softmax = softmax
        self.dtype = dtype
        self.fused = fused

    def zero_state(self, rows: int) -> WindowState:
        """Give the state of rows that have read nothing."""
        first = self._layer(0)[0]
        shape = (self.bilm.depth, DIRECTIONS, rows)
        like = first.bias
        return WindowState(
            like.new_zeros(*shape, first.hidden_dim), like.new_zeros(*shape, first.output_dim)
        )

    def forward(
        self, batch: Batch, state: WindowState, table: WordTable, dropout: Dropout
    ) -> Losses:
        """Run a window from ``state``."""
        with self._narrow(batch):
            encoder = self.bilm.token_encoder
            vectors = (
                table.encode(encoder, batch.words)
                if self.fused
                else encoder(*table.rows(batch.words))
            )  # (U, P)
        hidden = F.embedding(batch.places, vectors.to(self.dtype))  # (D, T, B, P)
        cells, hiddens = [], []
        run = self._run_fused if self.fused else self._run_plain
        for index in range(self.bilm.depth):
            inputs = dropout(hidden)
            output = run(index, inputs, state.cell[index], state.hidden[index], batch.keep)
            skips = index > 0 and self.bilm.forward_lstm.skip_connections
            hidden = output.hidden + inputs if skips else output.hidden
            cells.append(output.last_cell)
            hiddens.append(output.last_hidden)
        with self._narrow(batch):
            mean, of_directions = self._losses(dropout(hidden), batch)
        return Losses(mean, of_directions, WindowState(torch.stack(cells), torch.stack(hiddens)))

    def _run_fused(
        self, index: int, inputs: Tensor, cell: Tensor, hidden: Tensor, keep: Tensor
    ) -> LayerOutput:
        layers = self._layer(index)
        first = layers[0]
        projections = [layer.projection_weight for layer in layers]
        weights = LayerWeights(
            torch.stack([layer.input_weight for layer in layers]),
            torch.stack([layer.recurrent_weight for layer in layers]),
            torch.stack([layer.gate_bias() for layer in layers]),
            None
            if first.projection_weight is None
            else torch.stack(cast(list[Tensor], projections)),
        )
        limits = LayerLimits(first.cell_clip, first.projection_clip)
        return run_layer(inputs, weights, limits, cell=cell, hidden=hidden, keep=keep)

    def _run_plain(
        self, index: int, inputs: Tensor, cell: Tensor, hidden: Tensor, keep: Tensor
    ) -> LayerOutput:
        steps, rows = inputs.shape[1:3]
        outputs, cells, hiddens = [], [], []
        for direction, layer in enumerate(self._layer(index)):
            output, last_cell, last_hidden = layer(
                inputs[direction].transpose(0, 1),
                [rows] * steps,
                cell[direction],
                hidden[direction],
                keep[direction].t() == 0,
            )
            outputs.append(output.transpose(0, 1))
            cells.append(last_cell.detach())
            hiddens.append(last_hidden.detach())
        return LayerOutput(torch.stack(outputs), torch.stack(cells), torch.stack(hiddens))

    def _losses(self, hidden: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Give the mean loss and that of each direction from the top layer (D, T, B, P)."""
        if batch.samples is not None:
            assert batch.tries is not None
            means = [
                losses.mean()
                for losses in self.softmax.sampled_losses(
                    [hidden[direction].flatten(0, 1) for direction in range(DIRECTIONS)],
                    [batch.targets[direction].flatten() for direction in range(DIRECTIONS)],
                    [Candidates(*drawn) for drawn in zip(batch.samples, batch.tries, strict=True)],
                )
            ]
        elif self.fused:
            mean, losses = softmax_loss(
                hidden.flatten(0, 2),
                self.softmax.weight,
                self.softmax.bias,
                batch.targets.flatten(),
            )
            return mean, losses.view(DIRECTIONS, -1).mean(dim=1)
        else:
            means = [
                self.softmax.full_loss(
                    hidden[direction].flatten(0, 1), batch.targets[direction].flatten()
                ).mean()
                for direction in range(DIRECTIONS)
            ]
        of_directions = torch.stack(means)
        return of_directions.mean(), of_directions.detach().float()

    def _narrow(self, batch: Batch) -> torch.autocast:
        """Let torch make the products of plain modules in the chosen type."""
        narrow = self.dtype == torch.bfloat16
        return torch.autocast(batch.places.device.type, torch.bfloat16, enabled=narrow)

    def _layer(self, index: int) -> tuple[ProjectedLSTM, ProjectedLSTM]:
        """Give the layer of each direction."""
        ahead, behind = (
            stack.layers[index] for stack in (self.bilm.forward_lstm, self.bilm.backward_lstm)
        )
        return cast(ProjectedLSTM, ahead), cast(ProjectedLSTM, behind)
