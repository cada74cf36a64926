"""A linear layer over joined vectors that never joins them.

``W [a; b; c] + v = W_a a + W_b b + (W_c c + v)``. Where many combinations are made of few vectors,
as the pairs of spans or the spans of tokens, each vector goes through its part of the weights
once, and the combinations only add up what came out.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class JoinedLinear(nn.Module):
    """Maps parts of sizes ``input_dims`` to ``output_dim``; their sum is the layer's output."""

    def __init__(self, *, input_dims: Sequence[int], output_dim: int) -> None:
        super().__init__()
        self.input_dims = list(input_dims)
        self.joined = nn.Linear(sum(self.input_dims), output_dim)

    def forward(self, *parts: Tensor) -> list[Tensor]:
        """Give what each part (..., input_dims[i]) adds: (..., output_dim); the last the bias."""
        weights = torch.split(self.joined.weight, self.input_dims, dim=1)
        biases = [None] * (len(weights) - 1) + [self.joined.bias]
        return [linear(*each) for each in zip(parts, weights, biases, strict=True)]
