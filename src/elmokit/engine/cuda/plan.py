"""Which token each row reads at each step, cut into spans that a graph can run.

A graph is captured once for a width, a number of rows, and runs some steps. Rows are sorted,
the longest sentence first, so a batch narrows from width to width while its sentences end; rows
without a token are marked. There are few widths, so that graphs are captured a few times only.

B sentences, N tokens of all sentences, S steps (the longest sentence), D directions
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

DIRECTIONS = 2
STEPS = 4
"""Steps of a span."""
WIDTHS = (16, 32, 64, 128, 192, 256, 384, 512)
"""Rows of a span."""
MOST_ROWS = WIDTHS[-1]
NOTHING = -1
"""Stands where a row reads no token."""


class Plan:
    """The spans of a batch of at most ``MOST_ROWS`` sentences."""

    def __init__(self, lengths: Sequence[int], *, first: int = 0) -> None:
        """``first`` is the number of the first token."""
        counts = np.asarray(lengths, dtype=np.int64)  # (B,)
        self.order: npt.NDArray[np.int64] = np.argsort(-counts, kind="stable")
        """(B,): which sentence stands in each row."""
        falling = counts[self.order]
        begins = (np.cumsum(counts) - counts)[self.order] + first  # (B,)
        span_starts = np.arange(0, falling[0], STEPS)
        active = len(counts) - np.searchsorted(falling[::-1], span_starts, side="right")
        widths = np.asarray(WIDTHS)[np.searchsorted(WIDTHS, active)]
        self.widths: list[int] = widths.tolist()
        """Rows of each span."""
        pieces = []
        for width in np.unique(widths)[::-1]:  # they only fall
            starts = span_starts[widths == width]
            steps = np.arange(starts[0], starts[-1] + STEPS)
            pieces.append(_tokens(falling, begins, steps, int(width)).ravel())
        self.tokens: npt.NDArray[np.int32] = np.concatenate(pieces)
        """For each span its tokens (STEPS, D, width), one span after another."""


def _tokens(
    lengths: npt.NDArray[np.int64],
    begins: npt.NDArray[np.int64],
    steps: npt.NDArray[np.int64],
    width: int,
) -> npt.NDArray[np.int32]:
    """Number the tokens (S, D, width) that sorted rows read at ``steps``."""
    tokens = np.full((len(steps), DIRECTIONS, width), NOTHING, dtype=np.int32)
    lengths, begins, column = lengths[:width], begins[:width], steps[:, None]
    is_read = column < lengths  # (S, rows)
    rows = len(lengths)
    tokens[:, 0, :rows] = np.where(is_read, begins + column, NOTHING)
    tokens[:, 1, :rows] = np.where(is_read, begins + lengths - 1 - column, NOTHING)
    return tokens
