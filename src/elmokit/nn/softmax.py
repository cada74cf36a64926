"""The language model's softmax: one set of parameters for both directions.

N positions, P size of a direction, V vocabulary, S sampled words
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# A logit that nothing comes of; infinity would leave gradients undefined if all had it.
IMPOSSIBLE = -1e30


class Candidates(NamedTuple):
    """Distinct words drawn log-uniformly, as TensorFlow's candidate sampler draws them."""

    ids: Tensor
    """(S,) distinct word ids."""
    tries: int | Tensor
    """How many draws it took until S were distinct; the expected counts depend on it."""


class LanguageModelSoftmax(nn.Module):
    """Scores of the next (forward) or previous (backward) word from a top-layer output."""

    def __init__(self, *, vocabulary_size: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary_size, dim))
        self.bias = nn.Parameter(torch.empty(vocabulary_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise as bilm-tf does."""
        nn.init.normal_(self.weight, std=self.weight.shape[1] ** -0.5)
        nn.init.zeros_(self.bias)

    @property
    def vocabulary_size(self) -> int:
        """Number of words that can be predicted."""
        return self.weight.shape[0]

    def full_loss(self, hidden: Tensor, targets: Tensor, *, chunk: int = 1024) -> Tensor:
        """Give ``-log p(target)`` per position (N,) over the whole vocabulary.

        Only ``chunk`` positions have their V logits in memory at once.
        """
        losses = [
            F.cross_entropy(F.linear(part, self.weight, self.bias), part_targets, reduction="none")
            for part, part_targets in zip(
                torch.split(hidden, chunk), torch.split(targets, chunk), strict=True
            )
        ]
        return torch.cat(losses) if losses else hidden.new_zeros(0)

    def sampled_losses(
        self,
        hidden: Sequence[Tensor],
        targets: Sequence[Tensor],
        candidates: Sequence[Candidates],
    ) -> list[Tensor]:
        """Give the sampled-softmax loss per position (N,) of each direction (Jean et al. 2015).

        Logits are corrected by the log of each word's expected count among the candidates;
        a candidate that is the position's own target is left out.
        """
        # One look-up for all directions: its gradient is as large as the vocabulary.
        pairs = zip(targets, (drawn.ids for drawn in candidates), strict=True)
        ids = [part for pair in pairs for part in pair]
        sizes = [len(part) for part in ids]
        weights = torch.split(self.weight[torch.cat(ids)], sizes)
        biases = torch.split(self.bias[torch.cat(ids)], sizes)
        losses = []
        for index, (direction_hidden, direction_targets, drawn) in enumerate(
            zip(hidden, targets, candidates, strict=True)
        ):
            target_logits = (direction_hidden * weights[2 * index]).sum(dim=1)  # (N,)
            target_logits = target_logits + (
                biases[2 * index] - self._log_expected_count(direction_targets, drawn.tries)
            )
            corrected = biases[2 * index + 1] - self._log_expected_count(drawn.ids, drawn.tries)
            logits = F.linear(direction_hidden, weights[2 * index + 1], corrected)  # (N, S)
            self._leave_out_(logits, drawn.ids, direction_targets)
            others = torch.logsumexp(logits, dim=1)
            losses.append(torch.logaddexp(others, target_logits.to(others.dtype)) - target_logits)
        return losses

    def sampled_loss(self, hidden: Tensor, targets: Tensor, candidates: Candidates) -> Tensor:
        """Give the sampled-softmax loss per position (N,) of one direction."""
        return self.sampled_losses([hidden], [targets], [candidates])[0]

    def forward(
        self,
        forward_hidden: Tensor,
        forward_targets: Tensor,
        backward_hidden: Tensor,
        backward_targets: Tensor,
        *,
        samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Give the mean loss of each direction; ``samples`` chooses the sampled softmax.

        Each direction draws its own candidates, as the original training does.
        """
        losses = []
        for hidden, targets in (
            (forward_hidden, forward_targets),
            (backward_hidden, backward_targets),
        ):
            if samples is None:
                loss = self.full_loss(hidden, targets)
            else:
                drawn = sample_candidates(self.vocabulary_size, samples, generator=generator)
                candidates = Candidates(drawn.ids.to(hidden.device), drawn.tries)
                loss = self.sampled_loss(hidden, targets, candidates)
            losses.append(loss.mean())
        return losses[0], losses[1]

    def _leave_out_(self, logits: Tensor, ids: Tensor, targets: Tensor) -> None:
        """Make a candidate impossible where it is the target; one look-up, no pass over (N, S)."""
        columns = torch.full((self.vocabulary_size,), -1, device=ids.device)
        columns[ids] = torch.arange(len(ids), device=ids.device)
        column = columns[targets][:, None]  # (N, 1), -1 where the target was not drawn
        penalty = torch.where(column >= 0, IMPOSSIBLE, 0.0).to(logits.dtype)
        logits.scatter_add_(1, column.clamp(min=0), penalty)

    def _log_expected_count(self, ids: Tensor, tries: int | Tensor) -> Tensor:
        """Give log P(word is among the candidates): 1 - (1 - p)**tries, summed in float64."""
        ranks = ids.to(torch.float64)
        probability = torch.log1p(1 / (ranks + 1)) / math.log(self.vocabulary_size + 1)
        counts = torch.log(-torch.expm1(tries * torch.log1p(-probability)))
        return counts.to(self.weight.dtype)


def sample_candidates(
    vocabulary_size: int, count: int, *, generator: torch.Generator | None = None
) -> Candidates:
    """Draw ``count`` distinct ids with P(k) = log((k+2)/(k+1)) / log(V+1).

    Frequent words must have small ids: the vocabulary is sorted by frequency.
    """
    if not 0 < count <= vocabulary_size:
        raise ValueError(f"cannot draw {count} distinct words of {vocabulary_size}")
    if count == vocabulary_size:
        # Waiting for the rarest word by chance could take for ever. With every word drawn the
        # expected counts are 1, which is what a great number of tries gives.
        return Candidates(torch.arange(count), 2**62)
    log_range = math.log(vocabulary_size + 1)
    draws = torch.empty(0, dtype=torch.int64)
    while True:
        batch = max(
            2 * count, len(draws)
        )  # doubling keeps the repeated search for duplicates cheap
        uniform = torch.rand(batch, generator=generator, dtype=torch.float64)
        ids = (torch.exp(uniform * log_range).to(torch.int64) - 1).clamp(0, vocabulary_size - 1)
        draws = torch.cat([draws, ids])
        distinct, inverse = torch.unique(draws, return_inverse=True)
        if len(distinct) < count:
            continue
        first_seen = torch.full((len(distinct),), len(draws)).scatter_reduce(
            0, inverse, torch.arange(len(draws)), "amin"
        )
        order = torch.argsort(first_seen)[:count]
        return Candidates(distinct[order], int(first_seen[order[-1]]) + 1)
