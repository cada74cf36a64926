"""Sentences in, layers out: the plain runner on top of the `nn` modules.

B sentences, T tokens (marks included), P size of a direction, L LSTM layers
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from elmokit.config import Marks
from elmokit.engine.marked import with_marks
from elmokit.engine.word_vectors import DEFAULT_CAPACITY_BYTES, WordVectors
from elmokit.nn.bilm import BiLM, BiLMOutput, BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.text.token_indexer import TokenIndexer

# A lone full stop is as neutral as a sentence gets. docs/start-state.md has what was measured.
NEUTRAL_SENTENCE = (".",)
NEUTRAL_REPEATS = 5


class Runner:
    """Runs a frozen biLM over batches of token lists."""

    def __init__(
        self,
        bilm: BiLM,
        *,
        indexer: TokenIndexer,
        marks: Marks,
        cache_bytes: int = DEFAULT_CAPACITY_BYTES,
    ) -> None:
        self.bilm = bilm
        self.indexer = indexer
        self.marks = marks
        self.word_vectors = WordVectors(bilm.token_encoder, indexer, capacity_bytes=cache_bytes)

    def run(self, sentences: Sequence[Sequence[str]], state: BiLMState) -> BiLMOutput:
        """Run sentences without their marks from ``state``; the outputs include the marks."""
        # What comes out may be kept, so it must outlive an inference mode of the caller.
        with torch.inference_mode(False), torch.no_grad():
            return self._run(sentences, state)

    def _run(self, sentences: Sequence[Sequence[str]], state: BiLMState) -> BiLMOutput:
        token_vectors, lengths = self.token_vectors(sentences)
        output: BiLMOutput = self.bilm(token_vectors, lengths, state)
        return output

    def token_vectors(
        self, sentences: Sequence[Sequence[str]], *, cached: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Add the marks and give token vectors (B, T, P) with their lengths (B,) on the CPU.

        ``cached=False`` computes every word, for an encoder whose weights change.
        """
        marked = with_marks(sentences, self.marks)
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in row] for row in marked]
        words = list(numbers)
        vectors = self.word_vectors(words) if cached else self.word_vectors.compute(words)
        lengths = torch.tensor([len(row) for row in rows])
        positions = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row) for row in rows], batch_first=True
        )  # (B, T)
        return vectors[positions.to(vectors.device)], lengths

    def zero_state(self, rows: int) -> BiLMState:
        """Give the state of rows that have read nothing."""
        return self.bilm.zero_state(rows)

    def warm_state(self) -> BiLMState:
        """Give the one-row state after a few neutral sentences."""
        state = self.zero_state(1)
        for _ in range(NEUTRAL_REPEATS):
            state = self.run([NEUTRAL_SENTENCE], state).state
        return state


def map_state(state: BiLMState, change: Callable[[Tensor], Tensor]) -> BiLMState:
    """Apply a function to each of the four tensors of a state."""
    return BiLMState(*(LSTMState(change(part.cell), change(part.hidden)) for part in state))


def expand_state(state: BiLMState, rows: int) -> BiLMState:
    """Repeat a one-row state for ``rows`` rows without copying it."""
    return map_state(state, lambda tensor: tensor.expand(-1, rows, -1))
