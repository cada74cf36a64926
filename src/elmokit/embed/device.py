"""Where a model computes, and in which precision."""

import torch

from elmokit.errors import InputError

DTYPES = {
    "cpu": ("float32", "bfloat16", "int8", "float64"),
    "cuda": ("float32", "tf32", "bfloat16", "float64"),
}


def checked_dtype(dtype: str, device: torch.device) -> str:
    """Give back a precision that a device has."""
    known = DTYPES.get(device.type, DTYPES["cuda"])
    if dtype not in known:
        raise InputError(f"dtype: expected one of {', '.join(known)} on {device}, found {dtype!r}")
    return dtype


def device_named(name: str) -> torch.device:
    """Find a device; ``auto`` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        usable = device.type != "meta"
        torch.zeros(1, device=device)
    except Exception:  # torch raises many kinds for devices that it knows and has not
        usable = False
    if not usable:
        raise InputError(
            f"device: expected 'auto', 'cpu' or, where torch sees a GPU, 'cuda', found {name!r}"
        )
    return device


def weight_type(dtype: str) -> torch.dtype:
    """Give the type of the modules' weights; engines make narrower copies of their own."""
    return torch.float64 if dtype == "float64" else torch.float32
