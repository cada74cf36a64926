"""Sentences that are at hand to vectors, batch by batch, and what to do when memory runs out.

N tokens of all sentences, D size of a representation
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from elmokit.embed.batching import batches
from elmokit.embed.layer_choice import LayerChoice, Vectors
from elmokit.engine.embedder import Embedder
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMState

# How many budgets of tokens are gathered before they are sorted into batches: enough for rows
# of like length, few enough for a stream to stay small in memory.
BUDGETS_PER_WINDOW = 8
MOST_SENTENCES_PER_WINDOW = 10_000


def windows(sentences: Iterator[list[str]], batch_tokens: int) -> Iterator[list[list[str]]]:
    """Gather sentences until several batches of ``batch_tokens`` are together."""
    window: list[list[str]] = []
    tokens = 0
    for sentence in sentences:
        window.append(sentence)
        tokens += len(sentence) + 2
        if tokens >= BUDGETS_PER_WINDOW * batch_tokens or len(window) >= MOST_SENTENCES_PER_WINDOW:
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
    while left:
        lengths = [len(window[index]) + 2 for index in left]
        done: set[int] = set()
        for batch in batches(lengths, batch_tokens=batch_tokens, batch_rows=batch_rows):
            rows = [left[position] for position in batch]
            chosen = [window[row] for row in rows]
            found = _embed_if_it_fits(embedder, chosen, start, choice)
            if found is None:
                batch_tokens = len(rows) * lengths[batch[0]] // 2
                break
            for row, vectors in zip(rows, found, strict=True):
                results[row] = vectors
            done.update(rows)
        left = [index for index in left if index not in done]
    return results


def cut(picked: Tensor, sentences: Sequence[list[str]]) -> Iterator[Vectors]:
    """Cut (..., N, D), the tokens of all sentences, into one array per sentence."""
    values = picked.to(device="cpu", dtype=torch.float32).numpy()
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence)
        yield values[..., start:end, :].copy()


def _embed_if_it_fits(
    embedder: Embedder, sentences: list[list[str]], start: BiLMState, choice: LayerChoice
) -> list[Vectors] | None:
    """Give the arrays of a batch, or None where memory ran out and fewer may do."""
    tokens = sum(map(len, sentences))
    try:
        return list(cut(choice.pick(embedder(sentences, start)), sentences))
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
