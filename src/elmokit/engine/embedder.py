"""Sentences in, layers out, as fast as a device can: the interface of all engines.

N tokens of all sentences, P size of a direction, L LSTM layers
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from elmokit.engine.cpu.embedder import CPUEmbedder
from elmokit.engine.cpu.precision import worthwhile
from elmokit.engine.one_at_a_time import OneAtATime
from elmokit.engine.reader import PlainReader, Reader
from elmokit.engine.runner import Runner, expand_state
from elmokit.engine.word_vectors import WordVectors
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMState


class Embedder(Protocol):
    """Gives the layers of sentences that all begin from the same state."""

    word_vectors: WordVectors
    """The vectors before context, kept from call to call."""

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        """Give L+1 tensors (N, 2P): the tokens of all sentences one after another.

        Sentences have at least one token. ``start`` is a one-row state; the marks are read and
        left out of the result.
        """
        ...

    def carry(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """Give the same, each sentence from a row of ``state``, and the state after them."""
        ...


class PlainEmbedder:
    """The reference: the `nn` modules as they are, in any type and on any device."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.word_vectors = runner.word_vectors
        self._turn = OneAtATime()

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        """See `Embedder`."""
        layers, _ = self.carry(sentences, expand_state(start, len(sentences)))
        return layers

    def carry(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """See `Embedder`."""
        with self._turn:
            output = self._runner.run(sentences, state)
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        places = torch.arange(output.layers[0].shape[1])
        unmarked = (places > 0) & (places <= lengths[:, None])  # (B, T)
        unmarked = unmarked.to(output.layers[0].device)
        return [layer[unmarked] for layer in output.layers], output.state


def embedder_for(runner: Runner, *, dtype: str) -> Embedder:
    """Choose the engine for the device that a biLM is on and a precision."""
    weight = next(runner.bilm.parameters())
    if weight.dtype != torch.float32:
        return PlainEmbedder(runner)
    if weight.device.type == "cpu":
        return CPUEmbedder(
            runner.bilm,
            indexer=runner.indexer,
            marks=runner.marks,
            dtype=worthwhile(dtype, runner.bilm),
        )
    if weight.device.type == "cuda":
        try:
            from elmokit.engine.cuda.embedder import CUDAEmbedder
        except ImportError as error:
            raise InputError(
                "device: a GPU needs Triton, which comes with torch on Linux: pip install triton"
            ) from error
        return CUDAEmbedder(runner.bilm, indexer=runner.indexer, marks=runner.marks, dtype=dtype)
    if dtype != "float32":
        raise InputError(f"dtype: expected float32 or float64 on {weight.device}, found {dtype!r}")
    return PlainEmbedder(runner)


def reader_for(runner: Runner, *, dtype: str, embedder: Callable[[], Embedder]) -> Reader:
    """Choose what reads in one direction, with all digits of the biLM's own type.

    An engine that has them, the one that ``embedder`` gives, shares its weights and the words that
    it knows. It is not made where it has not.
    """
    weight = next(runner.bilm.parameters())
    plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    if plain and worthwhile(dtype, runner.bilm) == "float32":
        made = embedder()
        if isinstance(made, CPUEmbedder):
            return made
    return PlainReader(runner)
