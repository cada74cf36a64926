"""Batches by a token budget, with sentences of like length together."""

from collections.abc import Iterator, Sequence
from numbers import Integral

from elmokit.errors import InputError

# A GPU is kept busy by far more rows than a CPU.
BATCH_TOKENS_OF_CPU = 4096
BATCH_TOKENS_OF_GPU = 16384


def batch_tokens_of(device: str) -> int:
    """Choose a budget for a device."""
    return BATCH_TOKENS_OF_GPU if device.startswith("cuda") else BATCH_TOKENS_OF_CPU


def check_batch_tokens(batch_tokens: int | None) -> None:
    """Refuse a budget that no batch could meet; None leaves the choice to us."""
    if batch_tokens is None:
        return
    whole = isinstance(batch_tokens, Integral) and not isinstance(batch_tokens, bool)
    if not whole or batch_tokens < 1:
        raise InputError(f"batch_tokens: expected a whole number above 0, found {batch_tokens!r}")


def batches(
    lengths: Sequence[int], *, batch_tokens: int, batch_rows: int | None = None
) -> Iterator[list[int]]:
    """Give lists of positions in ``lengths``, longest first.

    Rows times the longest length stay within ``batch_tokens``; a sentence that alone exceeds it
    forms a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[batch[0]] if batch else 0
        full = batch and (len(batch) + 1) * longest > batch_tokens
        if full or (batch_rows is not None and len(batch) >= batch_rows):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
