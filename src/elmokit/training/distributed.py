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

CPU = torch.device("cpu")


@dataclass(frozen=True)
class World:
    """Who takes part in a training."""

    rank: int = 0
    """This process's number."""
    size: int = 1
    """How many processes there are."""
    device: torch.device = CPU
    """Where the tensors lie that processes exchange."""

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
        with _exchange():
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
        with _exchange():
            torch.distributed.all_gather(parts, tensor.contiguous())
        return torch.cat(parts, dim=dim)

    def of_all(self, numbers: Sequence[int]) -> list[list[int]]:
        """Give every process's numbers."""
        if self.size == 1:
            return [list(numbers)]
        own = torch.tensor([[int(number) for number in numbers]], device=self.device)
        rows: list[list[int]] = self.joined(own, dim=0).tolist()
        return rows

    @contextmanager
    def together(self) -> Iterator[None]:
        """Pass only together: where one process fails in this block, the others fail after it."""
        if self.size == 1:
            yield
            return
        failure = None
        try:
            yield
        except Exception as error:
            failure = error
        failed = [rank for rank, (bad,) in enumerate(self.of_all([failure is not None])) if bad]
        if failure is not None:
            raise failure
        if failed:
            raise InputError(f"process {failed[0]} of the run has failed; its message says why")

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            with _exchange():
                torch.distributed.barrier()


@contextmanager
def _exchange() -> Iterator[None]:
    """Say in our words that somebody is missing."""
    try:
        yield
    except RuntimeError as error:
        raise InputError(
            f"another process of the run is gone ({error}); its message says why, and the same "
            "command goes on from the last checkpoint"
        ) from error


def process_count() -> int:
    """Say how many processes torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first_process() -> bool:
    """Say whether this process is the one that writes and speaks for all."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def world(device: torch.device) -> Iterator[World]:
    """Join the processes that torchrun started, or be alone."""
    if process_count() == 1:
        yield World(device=device)
        return
    if device.type == "cuda":
        torch.distributed.init_process_group("nccl", device_id=device)
    else:
        torch.distributed.init_process_group("gloo")
    yield World(torch.distributed.get_rank(), torch.distributed.get_world_size(), device)
    # Not after an error: it would wait for the others, who may wait for this process elsewhere.
    torch.distributed.destroy_process_group()


def own_device(name: str) -> torch.device:
    """Give this process its device: with several GPUs each process has its own."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device: expected auto, cpu or cuda, found {name!r}") from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise InputError(f"device: torch sees no GPU here, found {name!r}; use cpu")
        if device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        if device.index >= torch.cuda.device_count():
            raise InputError(
                f"device: torch sees {torch.cuda.device_count()} GPUs here, found {device}; "
                "start one process for each GPU"
            )
        torch.cuda.set_device(device)
    return device
