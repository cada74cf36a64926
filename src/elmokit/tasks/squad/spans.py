"""The best span of a text by scores of where it starts and where it ends.

B texts, T tokens, W tokens of the longest span that is allowed
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from elmokit.tasks.blocks.masked import VERY_LOW


class AnswerSpan(NamedTuple):
    """Tokens that answer a question."""

    first: int
    """The first token."""
    last: int
    """The last token."""
    score: float
    """The probability of this start times that of this end."""


def best_spans(starts: Tensor, ends: Tensor, *, longest: int) -> list[AnswerSpan]:
    """Give the most probable span of each text, at most ``longest`` tokens.

    ``starts`` and ``ends`` (B, T) are scores before the softmax, very low at padding. Of T times
    T pairs only the W ends that each start can have are looked at.
    """
    width = min(longest, starts.shape[1])
    start_logs = torch.log_softmax(starts, dim=1)  # (B, T)
    end_logs = torch.log_softmax(ends, dim=1)  # (B, T)
    reachable = F.pad(end_logs, (0, width - 1), value=2 * VERY_LOW).unfold(1, width, 1)  # (B, T, W)
    logs = (start_logs[:, :, None] + reachable).flatten(1)  # (B, T * W)
    best, places = logs.max(dim=1)  # (B,)
    firsts = places // width
    lasts = firsts + places % width
    return [
        AnswerSpan(first, last, score)
        for first, last, score in zip(
            firsts.tolist(), lasts.tolist(), best.exp().tolist(), strict=True
        )
    ]
