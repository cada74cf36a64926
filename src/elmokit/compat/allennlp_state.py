"""The state that AllenNLP keeps from call to call: as many rows as the largest batch had.

L layers, B rows
"""

from collections.abc import Callable

import torch
from torch import Tensor

from elmokit.engine.runner import map_state
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState


class RowStates:
    """The state of each row at its sentence's end; rows that a call leaves out keep theirs."""

    def __init__(self) -> None:
        self._state: BiLMState | None = None

    def reset(self) -> None:
        """Forget everything that was read."""
        self._state = None

    def take(self, bilm: BiLM, rows: int) -> BiLMState:
        """Give the state of the first rows; rows that are new are zero."""
        with torch.inference_mode(False):
            zeros = bilm.zero_state(rows)
            if self._state is None:
                self._state = zeros
            self._state = _paired(self._state, zeros, _grown)
            return map_state(self._state, lambda part: part[:, :rows])

    def put(self, state: BiLMState) -> None:
        """Keep what a call has left behind in its rows; no gradient goes back through it."""
        assert self._state is not None, "take comes first"
        with torch.inference_mode(False):
            self._state = _paired(state, self._state, _laid_over)


def _paired(
    first: BiLMState, second: BiLMState, join: Callable[[Tensor, Tensor], Tensor]
) -> BiLMState:
    return BiLMState(
        *(
            LSTMState(*(join(*parts) for parts in zip(one, other, strict=True)))
            for one, other in zip(first, second, strict=True)
        )
    )


def _grown(kept: Tensor, zeros: Tensor) -> Tensor:
    """Add rows of zeros where ``zeros`` has more, on the device where they are wanted."""
    kept = kept.to(zeros.device, zeros.dtype)
    return torch.cat([kept, zeros[:, kept.shape[1] :]], dim=1)


def _laid_over(new: Tensor, kept: Tensor) -> Tensor:
    """Lay (L, B, ..) over the first rows of what was kept."""
    return torch.cat([new.detach(), kept[:, new.shape[1] :]], dim=1)
