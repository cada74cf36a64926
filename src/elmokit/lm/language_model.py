"""A frozen biLM with its softmax: how likely each direction finds each word.

N positions, P size of a direction, V vocabulary
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

from elmokit.engine.reader import Numbers, OneDirection, PlainReader, Reader
from elmokit.engine.runner import NEUTRAL_REPEATS, NEUTRAL_SENTENCE, Runner
from elmokit.errors import InputError
from elmokit.lm.numbered_text import DIRECTIONS, Document
from elmokit.nn.bilm import BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.nn.row_blocks import GPU_ROWS, pad_rows
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.text.vocabulary import Vocabulary

LanguageStart = Literal["zeros", "warm"]
Doubles = npt.NDArray[np.float64]

DEFAULT_BATCH_TOKENS = 8192
LEAST_STEPS, MOST_STEPS = 64, 1024
# Logits in memory at once: 16 MB, since the system hands larger pieces out anew each time, which
# was seen to cost a third of the time. A GPU makes them for one block of rows: `nn.row_blocks`.
CPU_LOGITS = 2**22
# A CPU's product of fewer rows with so large a matrix is summed in another order than that of more,
# so that a sentence would differ by 6e-6 with those beside it; and it takes longer.
CPU_SOFTMAX_ROWS = 16


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


class Context(NamedTuple):
    """What a direction has read: a mark, and words in the order of reading."""

    direction: OneDirection
    words: Sequence[str]


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
        reader: Reader | None = None,
    ) -> None:
        """``reader`` is a faster way to the outputs of the runner's biLM."""
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
        self._reader = reader or PlainReader(runner)

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
                self._read(direction, [[word for dot in neutral for word in (mark, dot)]], state)[1]
                for direction, mark, state in zip(
                    DIRECTIONS, (self.marks.begin, self.marks.end), zeros, strict=True
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
        (found,) = self.next_words([Context(direction, words)], start=start)
        return found

    def next_words(self, contexts: Sequence[Context], *, start: LanguageStart) -> Iterator[Doubles]:
        """Give the same for each of several contexts, of either direction, read together."""
        for context in contexts:
            if not context.words:
                raise InputError("words: expected a mark, and words that follow it; found none")
        state = self.start_state(start)
        last: list[Tensor] = [torch.empty(0)] * len(contexts)
        for direction in DIRECTIONS:
            places = [place for place, one in enumerate(contexts) if one.direction == direction]
            if places:
                rows = [contexts[place].words for place in places]
                hidden, _ = self._read(direction, rows, getattr(state, direction))
                ends = np.cumsum([len(row) for row in rows]) - 1
                for place, row in zip(places, hidden[ends.tolist()], strict=True):
                    last[place] = row
        for first in range(0, len(last), CPU_SOFTMAX_ROWS):
            yield from self._log_probabilities(torch.stack(last[first : first + CPU_SOFTMAX_ROWS]))

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
            counts = [min(row.left, steps) for row in rows]
            values, state = self._run_rows(direction, words, targets, rows, counts, state)
            pieces = np.split(values, np.cumsum(counts)[:-1])
            for row, piece in zip(rows, pieces, strict=True):
                yield Losses(row.document, row.position, piece)
                row.position += len(piece)
            going_on = [i for i, row in enumerate(rows) if row.left]
            rows, state = [rows[i] for i in going_on], _take_rows(state, going_on)

    def _run_rows(
        self,
        direction: OneDirection,
        words: Sequence[str],
        targets: Tensor,
        rows: Sequence[_Row],
        counts: Sequence[int],
        state: LSTMState,
    ) -> tuple[Doubles, LSTMState]:
        """Read the next ``counts`` items of each row, and give their losses (N,)."""
        pieces = [
            (row.inputs[row.position :][:count], row.targets[row.position :][:count])
            for row, count in zip(rows, counts, strict=True)
        ]
        distinct, places = np.unique(
            np.concatenate([inputs for inputs, _ in pieces]), return_inverse=True
        )
        hidden, state = self._reader.read(
            direction,
            [words[number] for number in distinct],
            np.split(places.astype(np.int32), np.cumsum(counts)[:-1]),
            state,
        )
        wanted = targets[torch.from_numpy(np.concatenate([wanted for _, wanted in pieces]))]
        with torch.inference_mode(False), torch.no_grad():
            return self._target_losses(hidden, wanted), state

    def _target_losses(self, hidden: Tensor, targets: Tensor) -> Doubles:
        """Give the losses (N,) of ``targets`` after ``hidden`` (N, P)."""
        padded = self._for_softmax(hidden)
        padded_targets = F.pad(targets, (0, len(padded) - len(hidden))).to(padded.device)
        rows = CPU_LOGITS // self.softmax.vocabulary_size // CPU_SOFTMAX_ROWS * CPU_SOFTMAX_ROWS
        chunk = GPU_ROWS if padded.is_cuda else max(rows, CPU_SOFTMAX_ROWS)
        losses = self.softmax.full_loss(padded, padded_targets, chunk=chunk)
        return cast(Doubles, losses[: len(hidden)].double().cpu().numpy())

    def _log_probabilities(self, hidden: Tensor) -> Doubles:
        """Give those of all words (N, V) after ``hidden`` (N, P)."""
        with torch.inference_mode(False), torch.no_grad():
            padded = self._for_softmax(hidden)
            logits = F.linear(padded, self.softmax.weight, self.softmax.bias)[: len(hidden)]
            return cast(Doubles, torch.log_softmax(logits.double(), dim=1).cpu().numpy())

    def _read(
        self, direction: OneDirection, rows: Sequence[Sequence[str]], state: LSTMState
    ) -> tuple[Tensor, LSTMState]:
        """Give the top layer's outputs (N, P) of rows of words, and the state at their ends."""
        numbers: dict[str, int] = {}
        places = [
            np.array([numbers.setdefault(word, len(numbers)) for word in row], dtype=np.int32)
            for row in rows
        ]
        return self._reader.read(direction, list(numbers), places, state)

    def _for_softmax(self, hidden: Tensor) -> Tensor:
        """Give rows (N, P) in the softmax's type, padded so that none depends on how many."""
        hidden = hidden.to(self.softmax.weight.dtype)
        if hidden.is_cuda:
            return pad_rows(hidden)
        return F.pad(hidden, (0, 0, 0, -len(hidden) % CPU_SOFTMAX_ROWS))


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
