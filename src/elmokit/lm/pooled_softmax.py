"""A softmax judged by a smaller vocabulary: its further words count as the unknown one.

N positions, P size of a direction, V vocabulary
"""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.nn.without_weights import without_weights


class PooledSoftmax(LanguageModelSoftmax):
    """Predicts the first words of its rows; all rows after them are parts of the unknown word.

    Two models with different vocabularies are compared on the same question this way: which of
    the words that both know comes here, or is it any other?
    """

    known: int
    unknown: int

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, *, known: int, unknown: int) -> Self:
        """Hold the given rows (V, P) and (V,); ``unknown`` is below ``known``."""
        with without_weights():
            softmax = cls(vocabulary_size=len(weight), dim=weight.shape[1])
        softmax.load_state_dict({"weight": weight, "bias": bias}, assign=True)
        softmax.known, softmax.unknown = known, unknown
        return softmax.requires_grad_(False).eval()

    def full_loss(self, hidden: Tensor, targets: Tensor, *, chunk: int = 1024) -> Tensor:
        """Give ``-log p(target)`` per position (N,), the unknown word's parts added up."""
        losses = []
        for part, part_targets in zip(
            torch.split(hidden, chunk), torch.split(targets, chunk), strict=True
        ):
            logits = F.linear(part, self.weight, self.bias)  # (n, V)
            others = torch.logsumexp(logits[:, self.known :], dim=1)
            pooled = torch.logaddexp(logits[:, self.unknown], others)
            of_targets = logits.gather(1, part_targets[:, None])[:, 0]
            of_targets = torch.where(part_targets == self.unknown, pooled, of_targets)
            losses.append(torch.logsumexp(logits, dim=1) - of_targets)
        return torch.cat(losses) if losses else hidden.new_zeros(0)
