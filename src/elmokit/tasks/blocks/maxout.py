"""A layer whose units are each the largest of several linear ones (Goodfellow et al. 2013).

B examples, I input size, O output size, P pieces of a unit
"""

from torch import Tensor, nn


class Maxout(nn.Module):
    """``max_p (W_p x + b_p)`` for each of the O units."""

    def __init__(self, *, input_dim: int, output_dim: int, pieces: int) -> None:
        super().__init__()
        self.pieces = pieces
        self.linear = nn.Linear(input_dim, output_dim * pieces)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (B, I) to (B, O)."""
        pieces: Tensor = self.linear(inputs).unflatten(1, (-1, self.pieces))  # (B, O, P)
        return pieces.amax(dim=2)
