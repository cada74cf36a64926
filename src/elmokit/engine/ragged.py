"""Sentences of different length side by side, without padding.

Rows are sorted, the longest sentence first, so that the rows that still have a token at a step
are the first ones: a batch runs step by step and shrinks. Tokens are numbered in two orders:
as they were given, sentence after sentence, and as they are read, step after step.

B sentences, N tokens of all sentences, S steps (the longest sentence)
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Span(NamedTuple):
    """Some steps that follow each other, and the tokens that they read."""

    active: list[int]
    """Rows of each step."""
    first: int
    """Place of the first token, in the order of reading."""
    end: int
    """Place after the last token."""


class Reading(NamedTuple):
    """The order in which one direction reads the tokens."""

    tokens: Tensor
    """(N,): which token, as given, is read at each place."""
    places: Tensor
    """(N,): where each token, as given, is read."""


class RaggedBatch:
    """Who reads what when."""

    def __init__(self, lengths: Sequence[int]) -> None:
        counts = np.asarray(lengths, dtype=np.int64)  # (B,)
        order = np.argsort(-counts, kind="stable")
        steps = int(counts[order[0]]) if len(counts) else 0
        rising = counts[order[::-1]]
        # How many sentences are longer than each step's number.
        active = len(counts) - np.searchsorted(rising, np.arange(steps), side="right")  # (S,)
        step = np.repeat(np.arange(steps), active)  # (N,)
        row = np.arange(len(step)) - np.repeat(np.cumsum(active) - active, active)  # (N,)
        sentence = order[row]
        begin = (np.cumsum(counts) - counts)[sentence]
        self.rows = len(counts)
        self.order = torch.from_numpy(order)
        """(B,): which sentence stands in each row."""
        self.last = torch.from_numpy(
            np.cumsum(active)[counts[order] - 1] - active[counts[order] - 1]
        )
        self.last += torch.arange(self.rows)
        """(B,): where each row's last token is read."""
        self.active: list[int] = active.tolist()
        """Rows that have a token, for each step."""
        self.forward = _reading(begin + step)
        self.backward = _reading(begin + counts[sentence] - 1 - step)

    def __len__(self) -> int:
        return len(self.forward.tokens)

    def spans(self, tokens: int) -> Iterator[Span]:
        """Cut the steps into spans that read at least ``tokens`` tokens, but for the last."""
        first = end = start = 0
        for step, rows in enumerate(self.active):
            end += rows
            if end - first >= tokens or step == len(self.active) - 1:
                yield Span(self.active[start : step + 1], first, end)
                first, start = end, step + 1


def _reading(tokens: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Reading:
    places = np.empty_like(tokens)
    places[tokens] = np.arange(len(tokens))
    return Reading(torch.from_numpy(tokens), torch.from_numpy(places))
