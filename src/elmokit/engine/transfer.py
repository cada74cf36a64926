"""Arrays to a device without waiting for what it computes."""

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor


def to_device(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Give a tensor with an array's numbers.

    A copy from ordinary memory to a GPU waits until all work before it is done; from pinned
    memory it takes its place behind that work.
    """
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
