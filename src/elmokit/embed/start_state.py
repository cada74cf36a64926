"""What the LSTMs remember when a sentence begins.

The original code carries the state over from whatever it ran before, so the same sentence
gives different vectors on every call. ``zeros`` and ``warm`` are fixed and make embedding a
pure function; ``carry`` reproduces the original.
"""

from typing import Literal, cast, get_args

import torch

from elmokit.engine.runner import map_state
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLM, BiLMState

Start = Literal["zeros", "warm", "carry"]

ORIGINAL_BATCH_ROWS = 64


def checked_start(start: str) -> Start:
    """Refuse an unknown start state by name."""
    if start not in get_args(Start):
        raise InputError(f"start: expected one of {', '.join(get_args(Start))}, found {start!r}")
    return cast(Start, start)


class CarriedState:
    """The LSTM state of each row of a batch, carried from call to call as the original does.

    A call fills rows from 0 on; sentences beyond ``rows`` start a next batch at row 0 again.
    Rows that a smaller batch leaves out keep their state; rows never used are zero.
    """

    def __init__(self, rows: int = ORIGINAL_BATCH_ROWS) -> None:
        if not isinstance(rows, int) or rows < 1:
            raise InputError(f"rows: expected a whole number above 0, found {rows!r}")
        self.rows = rows
        self._state: BiLMState | None = None

    def reset(self) -> None:
        """Forget everything that was read."""
        self._state = None

    def copy(self) -> "CarriedState":
        """Give an independent copy, to go on from the same point twice."""
        copied = CarriedState(self.rows)
        if self._state is not None:
            copied._state = map_state(self._state, torch.Tensor.clone)
        return copied

    def take(self, bilm: BiLM, count: int) -> BiLMState:
        """Give the state of the first ``count`` rows."""
        with torch.inference_mode(False):
            fresh = bilm.zero_state(self.rows)
        if self._state is None:
            self._state = fresh
        found, expected = self._state.forward.cell, fresh.forward.cell
        if (found.shape, found.dtype, found.device) != (
            expected.shape,
            expected.dtype,
            expected.device,
        ):
            raise InputError(
                "state: this CarriedState was filled by another model; use a new one or reset it"
            )
        return map_state(self._state, lambda tensor: tensor[:, :count])

    def put(self, state: BiLMState) -> None:
        """Keep the state that a batch has left behind in its rows."""
        assert self._state is not None, "take comes first"
        for kept, new in zip(self._state, state, strict=True):
            for kept_part, new_part in zip(kept, new, strict=True):
                kept_part[:, : new_part.shape[1]] = new_part
