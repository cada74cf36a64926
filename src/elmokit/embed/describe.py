"""What a model is, in plain facts."""

from pathlib import Path
from typing import Any

from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained import bundled_folder, bundled_name


def describe(checkpoint: Checkpoint) -> dict[str, Any]:
    """Give the facts that people ask for, as plain JSON values."""
    config = checkpoint.config
    parameters = {name: tensor.numel() for name, tensor in checkpoint.tensors.items()}
    softmax = sum(count for name, count in parameters.items() if name.startswith("softmax."))
    state = sum(count for name, count in parameters.items() if name.startswith("start_state."))
    inputs = [kind for kind in ("characters", "words") if getattr(config, kind) is not None]
    return {
        "name": checkpoint.metadata.get("name"),
        "description": checkpoint.metadata.get("description"),
        "licence": checkpoint.metadata.get("licence"),
        "trained": checkpoint.metadata.get("trained") != "no",
        "format": checkpoint.source_format,
        "input": "+".join(inputs),
        "alphabet": config.characters.alphabet if config.characters else None,
        "max_characters": config.characters.max_characters if config.characters else None,
        "layers": config.layers + 1,
        "dim": 2 * config.projection_dim,
        "lstm_dim": config.lstm_dim,
        "projection_dim": config.projection_dim,
        "skip_connections": config.skip_connections,
        "tokeniser": config.tokeniser,
        "vocabulary_size": len(checkpoint.vocabulary) if checkpoint.vocabulary else None,
        "parameters": sum(parameters.values()) - softmax - state,
        "softmax_parameters": softmax,
        "has_start_state": state > 0,
    }


def describe_files(checkpoint: Checkpoint, source: str | Path | None) -> dict[str, Any]:
    """Say how the native folder that ``checkpoint`` was read from lies on disk.

    ``source`` is what `read_checkpoint` was given. The values are None for a model that does
    not lie in a native folder.
    """
    layout = None
    if checkpoint.source_format == native.NAME:
        name = bundled_name(source)
        folder = bundled_folder(name) if name else Path(source or "")
        layout = native.layout(folder) if folder and folder.is_dir() else None
    return {
        "storage": layout.storage if layout else None,
        "file_sizes": layout.file_sizes if layout else None,
    }
