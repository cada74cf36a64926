"""The start state that lies with a model's tensors."""

import torch

from elmokit.formats.checkpoint import START_STATE_PARTS, Checkpoint
from elmokit.nn.bilm import BiLMState
from elmokit.nn.projected_lstm import LSTMState


def stored_start_state(
    checkpoint: Checkpoint, *, device: torch.device, dtype: torch.dtype
) -> BiLMState | None:
    """Give the one-row state that a checkpoint holds, or None where it holds none."""
    if "start_state.forward.cell" not in checkpoint.tensors:
        return None

    def direction(name: str) -> LSTMState:
        parts = (checkpoint.tensors[f"start_state.{name}.{part}"] for part in START_STATE_PARTS)
        return LSTMState(*(part[:, None].to(device, dtype) for part in parts))

    return BiLMState(direction("forward"), direction("backward"))
