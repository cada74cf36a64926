"""Models of a few dozen cells in every shape that an engine must know, and how near is equal."""

from dataclasses import replace

import torch
from torch import Tensor

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.runner import Runner, map_state
from elmokit.nn.bilm import BiLMState
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary

CHARACTERS = CharacterConfig(
    filters=((1, 4), (2, 8), (3, 8), (7, 16)), embedding_dim=4, highway_layers=2
)
CONFIG = ModelConfig(characters=CHARACTERS, lstm_dim=24, projection_dim=10)
WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sat")
CONFIGS = {
    "as published": CONFIG,
    "32 cells": replace(CONFIG, lstm_dim=32),
    "no projection": replace(CONFIG, lstm_projection=False, projection_dim=24),
    "no clipping": replace(CONFIG, cell_clip=None, projection_clip=None),
    "clipped hard": replace(CONFIG, cell_clip=0.05, projection_clip=0.01),
    "no skip": replace(CONFIG, skip_connections=False),
    "one layer": replace(CONFIG, layers=1),
    "three layers": replace(CONFIG, layers=3),
    "tanh": replace(CONFIG, characters=replace(CHARACTERS, activation="tanh", highway_layers=0)),
    "words": replace(
        CONFIG,
        characters=None,
        words=WordConfig(vocabulary_size=len(WORDS), embedding_dim=10),
        token_projection=False,
    ),
}
SENTENCES = [
    ["the", "cat", "sat"],
    ["on"],
    ["a", "mat", "of", "straw", ",", "which", "was", "not", "its", "own", "."],
    ["Donaudampfschifffahrtsgesellschaft" * 3, "고양이", "", "e" * 43, "e" * 44, "e" * 48],
    ["sat", "sat"],
]


def runner_for(config: ModelConfig, device: str = "cpu") -> Runner:
    checkpoint = untrained_checkpoint(config)
    # Untrained weights hardly move a cell; these reach the bent parts of every function.
    louder = {
        name: tensor * 1.5 if "lstm" in name else tensor
        for name, tensor in checkpoint.tensors.items()
    }
    return Runner(
        bilm_from_tensors(config, louder).to(device),
        indexer=TokenIndexer.for_model(
            config, vocabulary=Vocabulary(WORDS, marks=config.marks), characters=None
        ),
        marks=config.marks,
    )


def some_state(runner: Runner, rows: int) -> BiLMState:
    generator = torch.Generator().manual_seed(0)
    return map_state(
        runner.zero_state(rows),
        lambda zeros: (torch.randn(zeros.shape, generator=generator) / 10).to(zeros.device),
    )


def assert_near(found: list[Tensor], expected: list[Tensor], atol: float = 1e-5) -> None:
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        torch.testing.assert_close(left, right, atol=atol, rtol=0)
