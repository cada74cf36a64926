"""Dropout that drops the same numbers at every token of a text (Gal & Ghahramani 2016).

B texts, T tokens, D size of a vector
"""

from torch import Tensor, nn


class VariationalDropout(nn.Module):
    """Drops a share ``p`` of the numbers of (B, T, D), alike for all T."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, inputs: Tensor) -> Tensor:
        """Give (B, T, D)."""
        if not self.training or self.p == 0.0:
            return inputs
        kept = inputs.new_empty(len(inputs), 1, inputs.shape[2]).bernoulli_(1 - self.p)
        return inputs * kept.div_(1 - self.p)
