"""Vectors from a device to arrays, without waiting while it computes."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def begin_fetch(values: Tensor) -> Callable[[], npt.NDArray[np.float32]]:
    """Begin to copy ``values``; the function that comes back waits and gives them as float32."""
    if values.device.type != "cuda":
        array = values.to(device="cpu", dtype=torch.float32).numpy()
        return lambda: array
    host = torch.empty(values.shape, dtype=torch.float32, pin_memory=True)
    host.copy_(values, non_blocking=True)
    copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    copied.record(torch.cuda.current_stream(values.device))

    def wait() -> npt.NDArray[np.float32]:
        copied.synchronize()
        return host.numpy()

    return wait
