"""Sentences that are at hand to vectors, batch by batch, and what to do when memory runs out.

N tokens of all sentences, D size of a representation
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from elmokit.embed.batching import batches
from elmokit.embed.fetch import begin_fetch
from elmokit.embed.layer_choice import LayerChoice, Vectors
from elmokit.engine.embedder import Embedder
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMState

# How many budgets of tokens are gathered before they are sorted into batches: enough for rows
# of like length, few enough for a stream to stay small in memory.
BUDGETS_PER_WINDOW = 8
MOST_TOKENS_PER_WINDOW = 32_768
MOST_SENTENCES_PER_WINDOW = 10_000
# A GPU computes the next batch while arrays are made of this one.
BATCHES_AHEAD = 1


def windows(sentences: Iterator[list[str]], batch_tokens: int) -> Iterator[list[list[str]]]:
    """Gather sentences until several batches of ``batch_tokens`` are together."""
    enough = max(batch_tokens, min(BUDGETS_PER_WINDOW * batch_tokens, MOST_TOKENS_PER_WINDOW))
    window: list[list[str]] = []
    tokens = 0
    for sentence in sentences:
        window.append(sentence)
        tokens += len(sentence) + 2
        if tokens >= enough or len(window) >= MOST_SENTENCES_PER_WINDOW:
            yield window
            window, tokens = [], 0
    if window:
        yield window


def embed_window(
    embedder: Embedder,
    window: Sequence[list[str]],
    *,
    start: BiLMState,
    choice: LayerChoice,
    batch_tokens: int,
    batch_rows: int | None = None,
) -> list[Vectors]:
    """Give one array per sentence; sentences of like length are computed together."""
    results: list[Vectors] = [np.zeros(choice.shape(0), dtype=np.float32) for _ in window]
    left = [index for index, tokens in enumerate(window) if tokens]

    def finish(batch: _Begun) -> None:
        sentences = [window[row] for row in batch.rows]
        for row, vectors in zip(batch.rows, cut(batch.wait(), sentences), strict=True):
            results[row] = vectors

    while left:
        lengths = [len(window[index]) + 2 for index in left]
        done: set[int] = set()
        begun: deque[_Begun] = deque()
        for batch in batches(lengths, batch_tokens=batch_tokens, batch_rows=batch_rows):
            rows = [left[position] for position in batch]
            wait = _begin_if_it_fits(embedder, [window[row] for row in rows], start, choice)
            if wait is None:
                batch_tokens = len(rows) * lengths[batch[0]] // 2
                break
            begun.append(_Begun(rows, wait))
            done.update(rows)
            if len(begun) > BATCHES_AHEAD:
                finish(begun.popleft())
        for remaining in begun:
            finish(remaining)
        left = [index for index in left if index not in done]
    return results


class _Begun(NamedTuple):
    """A batch whose vectors are being computed, or are there already."""

    rows: list[int]
    """Its sentences, by their places in the window."""
    wait: Callable[[], npt.NDArray[np.float32]]


def cut(values: npt.NDArray[np.float32], sentences: Sequence[list[str]]) -> Iterator[Vectors]:
    """Cut (..., N, D), the tokens of all sentences, into one array per sentence."""
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence)
        yield values[..., start:end, :].copy()


def _begin_if_it_fits(
    embedder: Embedder, sentences: list[list[str]], start: BiLMState, choice: LayerChoice
) -> Callable[[], npt.NDArray[np.float32]] | None:
    """Begin a batch, or give None where memory ran out and fewer may do."""
    tokens = sum(map(len, sentences))
    try:
        return begin_fetch(choice.pick(embedder(sentences, start)))
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        if len(sentences) == 1:
            raise InputError(
                f"out of memory with a sentence of {tokens} tokens; cut it, free memory, or use "
                "another device"
            ) from error
    warnings.warn(
        f"out of memory with {len(sentences)} sentences of {tokens} tokens: going on with half as "
        "many at a time; a smaller batch_tokens avoids this",
        stacklevel=2,
    )
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out; on a CPU torch has no class for it."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )
