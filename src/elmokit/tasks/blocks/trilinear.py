"""How alike two vectors are: ``w . [x; y; x * y]`` (Seo et al. 2017).

B texts, T tokens of one side, S tokens of the other, D size of a vector
"""

import math

import torch
from torch import Tensor, nn


class TrilinearSimilarity(nn.Module):
    """Scores every token of one text against every token of another.

    The three parts of ``w`` are applied one by one, so that nothing of size T times S times D is
    ever made.
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.left = nn.Parameter(torch.empty(dim))
        self.right = nn.Parameter(torch.empty(dim))
        self.product = nn.Parameter(torch.empty(dim))
        bound = math.sqrt(6 / (3 * dim + 1))  # Glorot's, for one layer from 3D numbers to 1
        for weight in (self.left, self.right, self.product):
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Map (B, T, D) and (B, S, D) to (B, T, S)."""
        # (x * w) . y + v . y  =  (x * w + v) . y
        queries = left * self.product + self.right  # (B, T, D)
        return queries @ right.mT + (left @ self.left)[:, :, None]
