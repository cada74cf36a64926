"""What engines compute is their own affair, whatever mode the caller is in."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def undisturbed(weight: Tensor) -> Iterator[None]:
    """Give tensors that outlive an inference mode of the caller, in types of our own choice.

    Kernels and graphs are launched on the GPU that is current, so that of ``weight`` becomes it.
    """
    with (
        torch.inference_mode(False),
        torch.no_grad(),
        torch.autocast(weight.device.type, enabled=False),
        torch.cuda.device_of(weight),  # type: ignore[no-untyped-call]
    ):
        yield
