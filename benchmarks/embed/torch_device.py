"""What the workers on torch have in common; torch is imported when it is first needed."""

from embed.protocol import Settings


def set_threads(settings: Settings) -> None:
    """Let products use so many threads."""
    import torch

    torch.set_num_threads(settings.threads)


def wait(device: str) -> None:
    """Wait until a GPU has done what it was told."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


def device_name(device: str) -> str:
    """Name the GPU, or say that there is none."""
    import torch

    return torch.cuda.get_device_name() if device.startswith("cuda") else device


def peak_bytes(device: str) -> int | None:
    """Give the peak of a GPU's memory, or None on a CPU."""
    import torch

    return torch.cuda.max_memory_allocated() if device.startswith("cuda") else None
