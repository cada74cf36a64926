"""The biLM over batches of sentences on a CPU.

N tokens of all sentences, U distinct words, P size of a direction, L LSTM layers
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from elmokit.config import Marks
from elmokit.engine.cpu.lone_sentence import LoneSentence
from elmokit.engine.cpu.lstm import KeptTable, Stack
from elmokit.engine.cpu.precision import step_weights
from elmokit.engine.cpu.products import rounded_product_with
from elmokit.engine.frozen_word_encoder import FrozenWordEncoder
from elmokit.engine.marked import places_of_words, with_marks
from elmokit.engine.one_at_a_time import OneAtATime
from elmokit.engine.ragged import RaggedBatch, Reading
from elmokit.engine.reader import Numbers, OneDirection
from elmokit.engine.undisturbed import undisturbed
from elmokit.engine.word_vectors import DEFAULT_CAPACITY_BYTES, WordVectors
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.text.token_indexer import TokenIndexer

# Bytes of weights that both directions of a layer read at a step. More than this is read from
# memory at every step; then one direction after the other, half of them at a time, is faster.
SMALL_STEP = 24 * 2**20
# Lengths of words that go through the filters together.
GROUP_LENGTHS = (6, 8, 10, 13, 17, 24)
# Windows of words that go through the filters at once, so that their scores stay in the cache.
WINDOWS_AT_ONCE = 1024


class CPUEmbedder:
    """Runs a frozen float32 biLM; products are made in ``dtype``, sums in float32."""

    def __init__(
        self,
        bilm: BiLM,
        *,
        indexer: TokenIndexer,
        marks: Marks,
        dtype: str = "float32",
        cache_bytes: int = DEFAULT_CAPACITY_BYTES,
    ) -> None:
        with torch.no_grad():
            table = KeptTable()  # for both, because they take turns
            self._forward = Stack(bilm.forward_lstm, dtype=dtype, table=table)
            self._backward = Stack(bilm.backward_lstm, dtype=dtype, table=table)
            self.word_vectors = WordVectors(
                bilm.token_encoder,
                indexer,
                compute=FrozenWordEncoder(
                    bilm.token_encoder,
                    indexer,
                    product_with=partial(rounded_product_with, dtype="float32"),
                    group_lengths=GROUP_LENGTHS,
                    windows_at_once=WINDOWS_AT_ONCE,
                ),
                capacity_bytes=cache_bytes,
            )
            self._alone = (
                LoneSentence(bilm, self._forward, self._backward, dtype=dtype)
                if 2 * step_weights(bilm) * getattr(torch, dtype).itemsize <= SMALL_STEP
                else None
            )
        self._weight = next(bilm.parameters())
        self._marks = marks
        self._turn = OneAtATime()
        self._begun: tuple[BiLMState, BiLMState] | None = None

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        """See `Embedder`."""
        with self._turn, undisturbed(self._weight):
            layers, _ = self._run(sentences, self._after_marks(start))
            return layers

    def carry(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """See `Embedder`."""
        with self._turn, undisturbed(self._weight):
            layers, state = self._run(with_marks(sentences, self._marks), state)
            places = torch.from_numpy(places_of_words(sentences))
            return [layer[places] for layer in layers], state

    def read(
        self,
        direction: OneDirection,
        words: Sequence[str],
        rows: Sequence[Numbers],
        state: LSTMState,
    ) -> tuple[Tensor, LSTMState]:
        """See `Reader`."""
        stack = self._forward if direction == "forward" else self._backward
        with self._turn, undisturbed(self._weight):
            found = self.word_vectors.look_up(words)
            vectors = found.table[torch.from_numpy(found.rows)]  # (U, P)
            tokens = torch.from_numpy(found.numbers[np.concatenate(rows)])  # (N,)
            batch = RaggedBatch([len(row) for row in rows])
            # Rows are in the order of reading already, whichever way the direction goes.
            layers, state = _run_direction(stack, vectors, tokens, batch, batch.forward, state)
            return layers[-1], state

    def _run(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        found = self.word_vectors.look_up(list(chain.from_iterable(sentences)))
        words = found.table[torch.from_numpy(found.rows)]  # (U, P)
        tokens = torch.from_numpy(found.numbers)  # (N,)
        inputs = words[tokens]  # (N, P)
        lowest = torch.cat([inputs, inputs], dim=1)
        if len(sentences) == 1 and self._alone is not None:
            layers, end = self._alone.run(words, tokens, state)
            return [lowest, *layers], end
        batch = RaggedBatch([len(sentence) for sentence in sentences])
        ahead, forward_end = _run_direction(
            self._forward, words, tokens, batch, batch.forward, state.forward
        )
        behind, backward_end = _run_direction(
            self._backward, words, tokens, batch, batch.backward, state.backward
        )
        layers = [torch.cat(both, dim=1) for both in zip(ahead, behind, strict=True)]
        return [lowest, *layers], BiLMState(forward_end, backward_end)

    def _after_marks(self, start: BiLMState) -> BiLMState:
        """Give the state after the mark that each direction reads first: always the same."""
        if self._begun is None or self._begun[0] is not start:
            _, ahead = self._run([[self._marks.begin]], start)
            _, behind = self._run([[self._marks.end]], start)
            self._begun = (start, BiLMState(ahead.forward, behind.backward))
        return self._begun[1]


def _run_direction(
    stack: Stack,
    words: Tensor,
    tokens: Tensor,
    batch: RaggedBatch,
    reading: Reading,
    state: LSTMState,
) -> tuple[list[Tensor], LSTMState]:
    """Run a direction; outputs (N, P) and state come in the order of the sentences."""
    if state.cell.shape[1] != 1:
        state = _take_rows(state, batch.order)
    outputs, end = stack.run(words, tokens[reading.tokens], batch, state)
    return [output[reading.places] for output in outputs], _take_rows(end, batch.order.argsort())


def _take_rows(state: LSTMState, rows: Tensor) -> LSTMState:
    return LSTMState(state.cell[:, rows], state.hidden[:, rows])
