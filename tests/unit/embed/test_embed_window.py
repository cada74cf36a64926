"""What happens when memory runs out in the middle of a batch."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_window import is_out_of_memory
from elmokit.engine.embedder import Embedder
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMState
from elmokit.pretrained.untrained import untrained_checkpoint

SENTENCES = [["some", "words", str(number)] * (number % 3 + 1) for number in range(20)]


class SmallMemory:
    """An engine that fails with more than some tokens, as a device does."""

    def __init__(self, engine: Embedder, most: int, error: Exception) -> None:
        self.engine, self.most, self.error = engine, most, error
        self.word_vectors = engine.word_vectors
        self.calls: list[int] = []

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        tokens = sum(map(len, sentences))
        self.calls.append(tokens)
        if tokens > self.most:
            raise self.error
        return self.engine(sentences, start)

    def carry(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        return self.engine.carry(sentences, state)


def small(most: int, error: Exception) -> tuple[Elmo, SmallMemory]:
    elmo = Elmo(untrained_checkpoint(), device="cpu")
    engine = SmallMemory(elmo.embedder, most, error)
    elmo.embedder = engine
    return elmo, engine


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    ],
)
def test_goes_on_with_fewer_sentences_and_says_so(error: Exception) -> None:
    expected = Elmo(untrained_checkpoint(), device="cpu").embed(SENTENCES)
    elmo, engine = small(30, error)
    with pytest.warns(UserWarning, match="out of memory with .* going on with half"):
        found = elmo.embed(SENTENCES)
    assert engine.calls[0] == 117
    failed = [tokens for tokens in engine.calls if tokens > 30]
    assert engine.calls[: len(failed)] == failed, "what was too much is not tried again"
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6, rtol=0)


def test_a_sentence_that_is_too_long_alone_is_an_error() -> None:
    elmo, _ = small(8, torch.OutOfMemoryError("CUDA out of memory"))
    with (
        pytest.warns(UserWarning, match="half as"),
        pytest.raises(InputError, match="out of memory with a sentence of 9 tokens; cut it"),
    ):
        elmo.embed(SENTENCES)


def test_other_errors_are_not_retried() -> None:
    elmo, engine = small(8, RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        elmo.embed(SENTENCES)
    assert len(engine.calls) == 1
    assert not is_out_of_memory(KeyError("memory"))
