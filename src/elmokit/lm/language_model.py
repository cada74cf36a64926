"""A frozen biLM with its softmax: how likely each direction finds each word.

R rows, T steps, N positions, P size of a direction, V vocabulary
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.engine.runner import NEUTRAL_REPEATS, NEUTRAL_SENTENCE, Runner
from elmokit.errors import InputError
from elmokit.lm.numbered_text import Document, Numbers, OneDirection
from elmokit.nn.bilm import BiLMState
from elmokit.nn.projected_lstm import LSTMStack, LSTMState
from elmokit.nn.row_blocks import CPU_ROWS, GPU_ROWS, pad_rows
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.text.vocabulary import Vocabulary

LanguageStart = Literal["zeros", "warm"]
Doubles = npt.NDArray[np.float64]

DEFAULT_BATCH_TOKENS = 8192
LEAST_STEPS, MOST_STEPS = 64, 1024
# Logits in memory at once: 16 MB, since the system hands larger pieces out anew each time, which
# was seen to cost a third of the time. A GPU makes them for one block of rows: `nn.row_blocks`.
CPU_LOGITS = 2**22


def checked_language_start(start: str) -> LanguageStart:
    """Refuse a start state that a language model does not begin with."""
    if start not in get_args(LanguageStart):
        raise InputError(f"start: expected 'warm' or 'zeros', found {start!r}")
    return cast(LanguageStart, start)


class Losses(NamedTuple):
    """``-log p`` of successive items of one document, in the order in which they are read."""

    document: int
    first: int
    values: Doubles


@dataclass(slots=True)
class _Row:
    document: int
    inputs: Numbers
    targets: Numbers
    position: int = 0

    @property
    def left(self) -> int:
        return len(self.inputs) - self.position


class LanguageModel:
    """What a biLM and its softmax predict; states go in and nothing is remembered."""

    def __init__(
        self,
        *,
        runner: Runner,
        softmax: LanguageModelSoftmax,
        vocabulary: Vocabulary,
        warm_state: BiLMState | None = None,
    ) -> None:
        for mark in (runner.marks.begin, runner.marks.end):
            if mark not in vocabulary:
                raise InputError(
                    f"vocabulary: lacks the mark {mark!r}, which this model predicts; "
                    "pass the vocabulary that it was trained with"
                )
        self.runner = runner
        self.softmax = softmax
        self.vocabulary = vocabulary
        self.marks = runner.marks
        self._warm_state = warm_state

    def start_state(self, start: LanguageStart) -> BiLMState:
        """Give the one-row state of ``"zeros"`` or ``"warm"``.

        Warm is the state that is stored with the model, or else what reading a few neutral
        sentences leaves behind, read as in training: without the mark at their end.
        """
        zeros = self.runner.zero_state(1)
        if checked_language_start(start) == "zeros":
            return zeros
        if self._warm_state is None:
            neutral = [*NEUTRAL_SENTENCE] * NEUTRAL_REPEATS
            forward, backward = (
                self._read(direction, [word for dot in neutral for word in (mark, dot)], state)[1]
                for direction, mark, state in (
                    ("forward", self.marks.begin, zeros.forward),
                    ("backward", self.marks.end, zeros.backward),
                )
            )
            self._warm_state = BiLMState(forward, backward)
        return self._warm_state

    def is_unknown(self, words: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say of each word whether the softmax knows it only as the unknown mark."""
        unknown = self.marks.unknown
        return np.fromiter(
            (word == unknown or word not in self.vocabulary for word in words),
            np.bool_,
            count=len(words),
        )

    def next_word(
        self, direction: OneDirection, words: Sequence[str], *, start: LanguageStart
    ) -> Doubles:
        """Give the log-probability of every word of the vocabulary (V,) after ``words``.

        ``words`` begin with a mark and stand in the order in which the direction reads them.
        """
        state = getattr(self.start_state(start), direction)
        hidden, _ = self._read(direction, words, state)
        with torch.no_grad():
            last = pad_rows(self._for_softmax(hidden[-1:]))
            logits = F.linear(last, self.softmax.weight, self.softmax.bias)[0]  # (V,)
            return cast(Doubles, torch.log_softmax(logits.double(), dim=0).cpu().numpy())

    def losses(
        self,
        words: Sequence[str],
        documents: Sequence[Document],
        direction: OneDirection,
        *,
        start: LanguageStart,
        batch_tokens: int = DEFAULT_BATCH_TOKENS,
    ) -> Iterator[Losses]:
        """Give the loss of every item of ``documents``, each from the start state, in pieces.

        Documents run in parallel rows, a window of steps at a time; a row that comes to its end
        makes room for the next document. What comes out for a document does not depend on which
        others there are.
        """
        if batch_tokens < 1:
            raise InputError(
                f"batch_tokens: expected a whole number above 0, found {batch_tokens!r}"
            )
        stack = self._stack(direction)
        targets = torch.from_numpy(self.vocabulary.ids(words))
        start_state: LSTMState = getattr(self.start_state(start), direction)
        waiting = deque(sorted(range(len(documents)), key=lambda i: -documents[i].tokens))
        steps = min(max(batch_tokens // max(len(documents), 1), LEAST_STEPS), MOST_STEPS)
        rows: list[_Row] = []
        state = _take_rows(start_state, [])
        while rows or waiting:
            room = batch_tokens - sum(min(row.left, steps) for row in rows)
            kept = len(rows)
            while waiting and (not rows or room >= min(documents[waiting[0]].tokens, steps)):
                rows.append(_Row(waiting[0], *documents[waiting.popleft()].stream(direction)))
                room -= min(rows[-1].left, steps)
            state = _append_rows(state, start_state, len(rows) - kept)
            order = sorted(range(len(rows)), key=lambda i: -min(rows[i].left, steps))
            rows = [rows[i] for i in order]
            counts = [min(row.left, steps) for row in rows]
            values, state = self._run_rows(
                stack, words, targets, rows, counts, _take_rows(state, order)
            )
            pieces = np.split(values, np.cumsum(counts)[:-1])
            for row, piece in zip(rows, pieces, strict=True):
                yield Losses(row.document, row.position, piece)
                row.position += len(piece)
            going_on = [i for i, row in enumerate(rows) if row.left]
            rows, state = [rows[i] for i in going_on], _take_rows(state, going_on)

    def _run_rows(
        self,
        stack: LSTMStack,
        words: Sequence[str],
        targets: Tensor,
        rows: Sequence[_Row],
        counts: Sequence[int],
        state: LSTMState,
    ) -> tuple[Doubles, LSTMState]:
        """Read the next ``counts`` items of each row; the longest count comes first."""
        lengths = np.array(counts)
        mask = np.arange(counts[0]) < lengths[:, None]  # (R, T)
        numbers = np.zeros(mask.shape, dtype=np.int32)
        wanted = np.zeros(mask.shape, dtype=np.int32)
        for index, (row, count) in enumerate(zip(rows, counts, strict=True)):
            numbers[index, :count] = row.inputs[row.position : row.position + count]
            wanted[index, :count] = row.targets[row.position : row.position + count]
        distinct, places = np.unique(numbers, return_inverse=True)
        # What comes out is kept, so it must outlive an inference mode of the caller.
        with torch.inference_mode(False), torch.no_grad():
            vectors = self.runner.word_vectors([words[number] for number in distinct])
            where = torch.from_numpy(places.reshape(mask.shape)).to(vectors.device)
            layers, state = stack(vectors[where], mask.sum(axis=0).tolist(), state)
            hidden = layers[-1][torch.from_numpy(mask).to(vectors.device)]  # (N, P)
            return self._target_losses(hidden, targets[torch.from_numpy(wanted[mask])]), state

    def _target_losses(self, hidden: Tensor, targets: Tensor) -> Doubles:
        """Give the losses (N,) of ``targets`` after ``hidden`` (N, P)."""
        padded = pad_rows(self._for_softmax(hidden))
        padded_targets = F.pad(targets, (0, len(padded) - len(hidden))).to(padded.device)
        rows = CPU_LOGITS // self.softmax.vocabulary_size // CPU_ROWS * CPU_ROWS
        chunk = GPU_ROWS if padded.is_cuda else max(rows, CPU_ROWS)
        losses = self.softmax.full_loss(padded, padded_targets, chunk=chunk)
        return cast(Doubles, losses[: len(hidden)].double().cpu().numpy())

    def _read(
        self, direction: OneDirection | str, words: Sequence[str], state: LSTMState
    ) -> tuple[Tensor, LSTMState]:
        """Run one row; gives the top layer's outputs (T, P) and the state at its end."""
        numbers: dict[str, int] = {}
        places = torch.tensor([numbers.setdefault(word, len(numbers)) for word in words])
        with torch.inference_mode(False), torch.no_grad():
            vectors = self.runner.word_vectors(list(numbers))
            inputs = vectors[places.to(vectors.device)][None]  # (1, T, P)
            layers, state = self._stack(direction)(inputs, [1] * len(words), state)
            return layers[-1][0], state

    def _stack(self, direction: OneDirection | str) -> LSTMStack:
        bilm = self.runner.bilm
        assert not bilm.training, "dropout would disturb the probabilities: call eval() first"
        return bilm.forward_lstm if direction == "forward" else bilm.backward_lstm

    def _for_softmax(self, hidden: Tensor) -> Tensor:
        return hidden.to(self.softmax.weight.dtype)


def _take_rows(state: LSTMState, rows: Sequence[int]) -> LSTMState:
    index = torch.tensor(rows, dtype=torch.int64, device=state.cell.device)
    return LSTMState(state.cell[:, index], state.hidden[:, index])


def _append_rows(state: LSTMState, start: LSTMState, count: int) -> LSTMState:
    if count == 0:
        return state
    return LSTMState(
        *(
            torch.cat([kept, fresh.expand(-1, count, -1)], dim=1)
            for kept, fresh in zip(state, start, strict=True)
        )
    )
