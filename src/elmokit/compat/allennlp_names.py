"""How AllenNLP names and lays out the weights of a biLM: a table that is read both ways.

The gate of a highway has the opposite sign there, the bias of the forget gate has its 1 inside,
and the character embedding has a row for padding in front.

F features of a word, H cell, P size of a direction
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from elmokit.config import ModelConfig


@dataclass(frozen=True)
class Entry:
    """A tensor of AllenNLP and the tensor or tensors of elmokit that it corresponds to."""

    name: str
    tensors: tuple[str, ...]
    split: Callable[[Tensor], tuple[Tensor, ...]] = lambda tensor: (tensor,)
    join: Callable[..., Tensor] = lambda tensor: tensor


def entries(config: ModelConfig) -> list[Entry]:
    """List the tensors of a biLM with character input and the forget bias inside its weights."""
    assert config.characters is not None
    assert config.forget_bias == 0
    ours, theirs = "token_encoder.characters", "_token_embedder"
    table = [
        Entry(
            f"{theirs}._char_embedding_weights",
            (f"{ours}.embedding.weight",),
            split=lambda tensor: (tensor[1:],),
            join=lambda tensor: torch.cat([torch.zeros_like(tensor[:1]), tensor]),
        )
    ]
    for index in range(len(config.characters.filters)):
        for part in ("weight", "bias"):
            table.append(
                Entry(
                    f"{theirs}.char_conv_{index}.{part}", (f"{ours}.convolutions.{index}.{part}",)
                )
            )
    for index in range(config.characters.highway_layers):
        for part in ("weight", "bias"):
            highway = f"{ours}.highway.{index}"
            table.append(
                Entry(
                    f"{theirs}._highways._layers.{index}.{part}",
                    (f"{highway}.transform.{part}", f"{highway}.gate.{part}"),
                    split=_split_highway,
                    join=lambda transform, gate: torch.cat([transform, -gate]),
                )
            )
    if config.token_projection:
        for part in ("weight", "bias"):
            table.append(
                Entry(f"{theirs}._projection.{part}", (f"token_encoder.projection.{part}",))
            )
    cell = {
        "input_linearity.weight": "input_weight",
        "state_linearity.weight": "recurrent_weight",
        "state_linearity.bias": "bias",
    }
    if config.lstm_projection:
        cell["state_projection.weight"] = "projection_weight"
    for layer in range(config.layers):
        for direction in ("forward", "backward"):
            for name, own in cell.items():
                table.append(
                    Entry(
                        f"_elmo_lstm.{direction}_layer_{layer}.{name}",
                        (f"{direction}_lstm.layers.{layer}.{own}",),
                    )
                )
    return table


def to_allennlp(table: list[Entry], state: dict[str, Any], *, ours: str, theirs: str) -> None:
    """Rename in place what lies under the prefix ``ours`` to AllenNLP's names after ``theirs``."""
    for entry in table:
        parts = [state.pop(ours + name) for name in entry.tensors]
        state[theirs + entry.name] = entry.join(*parts)


def from_allennlp(table: list[Entry], state: dict[str, Any], *, ours: str, theirs: str) -> None:
    """Rename in place AllenNLP's names after ``theirs`` to those that lie under ``ours``.

    Names that are not there stay missing.
    """
    for entry in table:
        found = state.pop(theirs + entry.name, None)
        if found is not None:
            for name, part in zip(entry.tensors, entry.split(found), strict=True):
                state[ours + name] = part


def _split_highway(tensor: Tensor) -> tuple[Tensor, ...]:
    transform, gate = torch.tensor_split(tensor, 2)
    return transform, -gate
