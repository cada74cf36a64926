"""Which devices the processes that share some work are on."""

from collections.abc import Sequence

import torch

from elmokit.embed.device import device_named
from elmokit.embed.start_state import Start
from elmokit.errors import InputError


def worker_devices(
    workers: int | None, device: Sequence[str] | None, *, own: torch.device, start: Start
) -> tuple[str, ...]:
    """Name one device for each process: ``device`` as given, or ``workers`` times ``own``."""
    if start == "carry":
        raise InputError(
            "workers: a state that is carried from sentence to sentence cannot be shared; "
            f"load the model with start='warm' or 'zeros', found {start!r}"
        )
    if device is None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise InputError(f"workers: expected a whole number above 0, found {workers!r}")
        return (str(own),) * workers
    if isinstance(device, str) or not device:
        raise InputError(f"device: expected a list of devices to share, found {device!r}")
    if workers is not None and workers != len(device):
        raise InputError(
            f"workers, device: expected one worker for each device, found {workers} and "
            f"{len(device)}"
        )
    return tuple(str(device_named(name)) for name in device)
