"""Batch normalisation that can also train on a batch of one.

B examples of a batch, D size of a vector
"""

import torch.nn.functional as F
from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """Scales each number by its mean and variance over the batch (Ioffe & Szegedy 2015).

    Outside training by their running averages, so a result depends on no other example. So it
    does for a single example in training, which has no variance: the last of an epoch, say.
    """

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (B, D) to (B, D)."""
        if self.training and len(inputs) == 1:
            return F.batch_norm(
                inputs, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(inputs)
