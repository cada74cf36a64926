"""A tiny biLM with random weights: the whole path works, the vectors mean nothing."""

import torch

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.formats.checkpoint import Checkpoint, expected_tensors
from elmokit.text.vocabulary import Vocabulary

UNTRAINED_NAME = "tiny-untrained"

TINY_CONFIG = ModelConfig(
    characters=CharacterConfig(filters=((1, 16), (2, 32), (3, 64), (4, 64)), highway_layers=1),
    lstm_dim=128,
    projection_dim=32,
)


def untrained_checkpoint(
    config: ModelConfig = TINY_CONFIG,
    *,
    seed: int = 0,
    scale: float = 1.0,
    vocabulary: Vocabulary | None = None,
    characters: tuple[str, ...] | None = None,
) -> Checkpoint:
    """Make a model with random weights of a size that keeps its activations lively.

    The same config and seed always give the same weights.
    """
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in expected_tensors(config).items():
        values = torch.randn(shape, generator=generator)
        if name.endswith("bias"):
            deviation = 0.1
        elif "embedding" in name or "words" in name:
            deviation = 1.0
        else:
            deviation = torch.Size(shape[1:]).numel() ** -0.5
        tensors[name] = values * deviation * scale
    return Checkpoint(
        config=config,
        tensors=tensors,
        vocabulary=vocabulary,
        characters=characters,
        source_format="bundled",
        metadata={
            "name": UNTRAINED_NAME,
            "description": "random weights, untrained: for trying out the software only",
            "licence": "Apache-2.0",
            "trained": "no",
        },
    )
