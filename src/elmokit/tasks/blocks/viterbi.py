"""The best sequence of tags for each text of a batch (Viterbi 1967).

B texts, T tokens of the longest one, C tags
"""

import torch
from torch import Tensor


@torch.no_grad()
def best_paths(
    scores: Tensor, mask: Tensor, *, transitions: Tensor, starts: Tensor, ends: Tensor
) -> Tensor:
    """Give the tags (B, T) whose scores sum to the most; -1 where ``mask`` (B, T) is False.

    ``scores`` (B, T, C) are those of a tag at a token, ``transitions`` (C, C) those of the
    column's tag after the row's, ``starts`` and ``ends`` (C,) those of a text's first and last
    tag. What is forbidden scores minus infinity. Tokens stand first in each row of the mask.
    """
    rows, steps, tags = scores.shape
    if rows == 0 or steps == 0:
        return torch.full((rows, steps), -1, device=scores.device)
    by_step = scores.transpose(0, 1).to(torch.float32, copy=True)  # (T, B, C)
    before = torch.empty(steps, rows, tags, dtype=torch.long, device=scores.device)
    by_step[0] += starts
    for step in range(1, steps):
        # The best way to a tag of this step, over the tags of the step before.
        best, before[step] = (by_step[step - 1][:, :, None] + transitions).max(dim=1)  # (B, C)
        by_step[step] += best
    # Past a text's end the way back stands still, so that all texts go back from the same step.
    before = torch.where(
        mask.t()[:, :, None], before, torch.arange(tags, device=scores.device)
    )  # (T, B, C)
    last = mask.sum(dim=1).clamp(min=1) - 1  # (B,)
    final = by_step[last, torch.arange(rows, device=scores.device)] + ends  # (B, C)
    tag = final.argmax(dim=1, keepdim=True)  # (B, 1)
    paths = torch.empty(rows, steps, dtype=torch.long, device=scores.device)
    for step in reversed(range(steps)):
        paths[:, step] = tag[:, 0]
        tag = before[step].gather(1, tag)
    return torch.where(mask, paths, -1)
