"""Several processes that train one model, each on its share of every batch.

Started by torchrun, processes find each other through its environment variables. Gradients are
averaged once a step as one block, so that a CUDA graph can make them.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed
from torch import Tensor

from elmokit.errors import InputError


@dataclass(frozen=True)
class World:
    """Who takes part in a training."""

    rank: int = 0
    """This process's number."""
    size: int = 1
    """How many processes there are."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    def share(self, rows: int) -> slice:
        """Give this process's part of ``rows``."""
        if rows % self.size:
            raise InputError(
                f"rows: {rows} rows cannot be shared out to {self.size} processes equally; "
                f"choose a multiple of {self.size}"
            )
        part = rows // self.size
        return slice(self.rank * part, (self.rank + 1) * part)

    def average_(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by their means over all processes."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
        torch.distributed.all_reduce(flat)
        flat /= self.size
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def joined(self, tensor: Tensor, *, dim: int) -> Tensor:
        """Join every process's part of a tensor along ``dim``."""
        if self.size == 1:
            return tensor
        parts = [torch.empty_like(tensor) for _ in range(self.size)]
        torch.distributed.all_gather(parts, tensor.contiguous())
        return torch.cat(parts, dim=dim)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            torch.distributed.barrier()


@contextmanager
def world(device: torch.device) -> Iterator[World]:
    """Join the processes that torchrun started, or be alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World()
        return
    backend = "nccl" if device.type == "cuda" else "gloo"
    torch.distributed.init_process_group(backend)
    try:
        yield World(torch.distributed.get_rank(), torch.distributed.get_world_size())
    finally:
        torch.distributed.destroy_process_group()


def own_device(name: str) -> torch.device:
    """Give this process its device: with several GPUs each process has its own."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise InputError(f"device: torch sees no GPU here, found {name!r}; use cpu")
        if device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    return device
