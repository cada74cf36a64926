"""A linear-chain conditional random field (Lafferty et al. 2001) over tags.

B texts, T tokens of the longest one, C tags
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.bio import allowed_ends, allowed_starts, allowed_transitions
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.blocks.viterbi import best_paths


class CRF(nn.Module):
    """Scores of one tag after another; what the scheme of the tags forbids stays forbidden."""

    may_follow: Tensor
    may_start: Tensor
    may_end: Tensor

    def __init__(self, tags: Sequence[str]) -> None:
        super().__init__()
        count = len(tags)
        self.transitions = nn.Parameter(torch.zeros(count, count))
        self.starts = nn.Parameter(torch.zeros(count))
        self.ends = nn.Parameter(torch.zeros(count))
        self.register_buffer("may_follow", allowed_transitions(tags), persistent=False)
        self.register_buffer("may_start", allowed_starts(tags), persistent=False)
        self.register_buffer("may_end", allowed_ends(tags), persistent=False)

    def losses(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Give the negative log-likelihood (B,) of tags (B, T) under scores (B, T, C)."""
        scores = scores.float()
        transitions, starts, ends = self._constrained()
        return _log_partition(scores, mask, transitions, starts, ends) - _path_score(
            scores, tags.clamp(min=0), mask, transitions, starts, ends
        )

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Give the best tags (B, T), -1 at padding."""
        transitions, starts, ends = self._constrained()
        return best_paths(scores.float(), mask, transitions=transitions, starts=starts, ends=ends)

    def _constrained(self) -> tuple[Tensor, Tensor, Tensor]:
        return (
            torch.where(self.may_follow, self.transitions, VERY_LOW),
            torch.where(self.may_start, self.starts, VERY_LOW),
            torch.where(self.may_end, self.ends, VERY_LOW),
        )


def _log_partition(
    scores: Tensor, mask: Tensor, transitions: Tensor, starts: Tensor, ends: Tensor
) -> Tensor:
    """Sum over all paths (B,)."""
    way = _token_by_token if scores.device.type == "cpu" else _in_halves
    sums = way(starts + scores[:, 0], scores[:, 1:], mask[:, 1:], transitions)  # (B, C)
    return torch.logsumexp(sums + ends, dim=1)


def _token_by_token(first: Tensor, scores: Tensor, mask: Tensor, transitions: Tensor) -> Tensor:
    """Sum over all paths to each last tag (B, C), from the sums ``first`` of the first token.

    ``scores`` (B, T - 1, C) and ``mask`` are those of the other tokens.
    """
    sums = first
    for step in range(scores.shape[1]):
        longer = torch.logsumexp(sums[:, :, None] + transitions, dim=1) + scores[:, step]
        sums = torch.where(mask[:, step, None], longer, sums)
    return sums


def _in_halves(first: Tensor, scores: Tensor, mask: Tensor, transitions: Tensor) -> Tensor:
    """Do the same, joining neighbours pair by pair: C times the work, in log T steps for T.

    A GPU has the room, and would wait for each of T steps.
    """
    staying = torch.full_like(transitions, VERY_LOW).fill_diagonal_(0.0)  # padding changes no tag
    moves = torch.where(
        mask[:, :, None, None], transitions + scores[:, :, None, :], staying
    )  # (B, T - 1, C, C): from the row's tag to the column's
    while moves.shape[1] > 1:
        if moves.shape[1] % 2:
            moves = torch.cat([moves, staying.expand_as(moves[:, :1])], dim=1)
        before, after = moves[:, ::2], moves[:, 1::2]
        moves = torch.logsumexp(before[..., None] + after[..., None, :, :], dim=-2)
    if not moves.shape[1]:
        return first
    return torch.logsumexp(first[:, :, None] + moves[:, 0], dim=1)


def _path_score(
    scores: Tensor, tags: Tensor, mask: Tensor, transitions: Tensor, starts: Tensor, ends: Tensor
) -> Tensor:
    """Sum the scores (B,) along given paths."""
    own = scores.gather(2, tags[:, :, None])[:, :, 0]  # (B, T)
    moves = transitions[tags[:, :-1], tags[:, 1:]]  # (B, T - 1)
    last = tags.gather(1, (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0))[:, 0]  # (B,)
    total = torch.where(mask, own, 0.0).sum(dim=1) + starts[tags[:, 0]] + ends[last]
    return total + torch.where(mask[:, 1:], moves, 0.0).sum(dim=1)
