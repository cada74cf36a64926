"""One direction of a biLM over rows of words, for whoever needs its top layer alone.

R rows, T steps, N tokens of all rows, P size of a direction
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.engine.runner import Runner
from elmokit.nn.projected_lstm import LSTMStack, LSTMState

OneDirection = Literal["forward", "backward"]
Numbers = npt.NDArray[np.int32]


class Reader(Protocol):
    """Reads rows as they stand, without marks of its own."""

    def read(
        self,
        direction: OneDirection,
        words: Sequence[str],
        rows: Sequence[Numbers],
        state: LSTMState,
    ) -> tuple[Tensor, LSTMState]:
        """Give the top layer's outputs (N, P), row after row, and the state at the rows' ends.

        ``rows`` hold places in ``words``, at least one each, in the order of reading. ``state``
        has a row for each of them, or one for all. What comes out for a row does not depend on
        which others there are.
        """
        ...


class PlainReader:
    """The reference: the `nn` modules as they are, in any type and on any device."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def read(
        self,
        direction: OneDirection,
        words: Sequence[str],
        rows: Sequence[Numbers],
        state: LSTMState,
    ) -> tuple[Tensor, LSTMState]:
        """See `Reader`."""
        order = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
        lengths = np.array([len(rows[row]) for row in order])
        mask = np.arange(lengths[0]) < lengths[:, None]  # (R, T), the longest row first
        numbers = np.zeros(mask.shape, dtype=np.int64)
        numbers[mask] = np.concatenate([rows[row] for row in order])
        back = np.argsort(order).tolist()
        # What comes out is kept, so it must outlive an inference mode of the caller.
        with torch.inference_mode(False), torch.no_grad():
            vectors = self._runner.word_vectors(words)
            inputs = vectors[torch.from_numpy(numbers).to(vectors.device)]  # (R, T, P)
            state = LSTMState(*(part.expand(-1, len(rows), -1)[:, order] for part in state))
            layers, state = self._stack(direction)(inputs, mask.sum(axis=0).tolist(), state)
            here = torch.from_numpy(mask[back]).to(inputs.device)
            return layers[-1][back][here], LSTMState(*(part[:, back] for part in state))

    def _stack(self, direction: OneDirection) -> LSTMStack:
        bilm = self._runner.bilm
        assert not bilm.training, "dropout would disturb the probabilities: call eval() first"
        return bilm.forward_lstm if direction == "forward" else bilm.backward_lstm
