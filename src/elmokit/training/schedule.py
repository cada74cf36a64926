"""The learning rate at every step: warm-up, a plateau, decay."""

import math
from dataclasses import dataclass
from typing import Literal

Decay = Literal["none", "linear", "cosine"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A learning rate that rises, stays, and falls."""

    peak: float
    """The learning rate after warm-up."""
    steps: int
    """Length of the whole run."""
    warm_up: int = 0
    """Steps over which the rate rises in a straight line from near 0."""
    decay: Decay = "none"
    """How it falls at the end."""
    decay_share: float = 1.0
    """The last share of the steps, over which it falls."""
    final_share: float = 0.0
    """Where it falls to, as a share of the peak."""

    def rate(self, step: int) -> float:
        """Give the rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.peak * (step + 1) / (self.warm_up + 1)
        if self.decay == "none":
            return self.peak
        begin = max(self.warm_up, round(self.steps * (1 - self.decay_share)))
        if step < begin:
            return self.peak
        progress = min(1.0, (step - begin) / max(1, self.steps - begin))
        left = 1 - progress if self.decay == "linear" else (1 + math.cos(math.pi * progress)) / 2
        return self.peak * (self.final_share + (1 - self.final_share) * left)
