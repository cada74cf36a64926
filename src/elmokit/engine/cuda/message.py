"""All that a batch tells the GPU, in one transfer.

N tokens, U distinct words, D directions, H cell, P output, L LSTM layers
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.engine.cuda import kernels
from elmokit.engine.cuda.plan import Plan

Numbers = npt.NDArray[np.int64]


class Message(NamedTuple):
    """What has arrived."""

    headers: list[Tensor]
    """For each plan the header that its spans begin with; it holds addresses in this message."""
    rows: Tensor
    """(U,): the row of each distinct word in the table of vectors."""
    words: Tensor
    """(N,): which of the distinct words each token is."""


def send(
    plans: Sequence[Plan], *, rows: Numbers, words: Numbers, gates: Tensor, outputs: Tensor
) -> Message:
    """Send a batch's numbers, with the addresses of ``gates`` (U, D, 4H) and ``outputs``.

    ``outputs`` (L, N, D, P) is memory that is to be written.
    """
    ints_of_headers = 2 * kernels.HEADER_SIZE * len(plans)
    sizes = [ints_of_headers, len(rows), len(words), *(len(plan.tokens) for plan in plans)]
    here = torch.empty(sum(sizes), dtype=torch.int32, pin_memory=gates.is_cuda)
    there = torch.empty(sum(sizes), dtype=torch.int32, device=gates.device)
    headers, rows_here, words_here, *plans_here = (
        part.numpy() for part in torch.split(here, sizes)
    )
    _, rows_there, words_there, *plans_there = torch.split(there, sizes)
    rows_here[:] = rows
    words_here[:] = words
    for header, plan, part, arrived in zip(
        headers.view(np.int64).reshape(len(plans), -1), plans, plans_here, plans_there, strict=True
    ):
        part[:] = plan.tokens
        header[kernels.PLAN] = arrived.data_ptr()
        header[kernels.WORDS] = words_there.data_ptr()
        header[kernels.GATES] = gates.data_ptr()
        header[kernels.OUTPUTS] = outputs.data_ptr()
        header[kernels.TOKENS] = len(words)
    there.copy_(here, non_blocking=True)
    arrived_headers = there[:ints_of_headers].view(torch.int64).view(len(plans), -1)
    return Message(list(arrived_headers), rows_there, words_there)
