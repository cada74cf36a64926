"""How the native format stores tensors: as they are, or in a half or a quarter of the bytes.

``float32``   every tensor as it is
``float16``   the large weights in half precision
``int8``      the large weights as whole numbers of -127 to 127, times a float32 for each output
              row (first dimension), which lies beside the tensor under its name + ``.scale``

Large are weights of two or more dimensions with `LEAST_NUMBERS` numbers. What is left (biases,
short filters, the embedding of characters, the start state) is little and stays float32.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast, get_args

import torch
from torch import Tensor

from elmokit.errors import FormatError, InputError

Storage = Literal["float32", "float16", "int8"]

SCALE_SUFFIX = ".scale"
# Smaller tensors are some hundredths of a model together.
LEAST_NUMBERS = 4096
# Every word goes through the few rows of the first, every sentence through the second.
KEPT_PREFIXES = ("token_encoder.characters.embedding.", "start_state.")
LARGEST_INT8 = 127

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}


def pack(tensors: Mapping[str, Tensor], storage: Storage) -> dict[str, Tensor]:
    """Give the tensors as they are stored, with their scales."""
    checked_storage(storage)
    stored = {}
    for name, tensor in tensors.items():
        if storage == "float32" or not _is_packed(name, tensor):
            stored[name] = tensor.contiguous()
        elif storage == "float16":
            stored[name] = _to_float16(name, tensor)
        else:
            stored[name], stored[name + SCALE_SUFFIX] = _to_int8(name, tensor)
    return stored


def unpack(stored: Mapping[str, Tensor], storage: Storage, *, file: Path) -> dict[str, Tensor]:
    """Give float32 tensors again; ``file`` is named where the stored ones cannot be right."""
    tensors = {}
    scales = {name + SCALE_SUFFIX for name in stored if stored[name].dtype == torch.int8}
    for name, tensor in stored.items():
        if tensor.dtype not in (torch.float32, _DTYPES[storage]):
            packed = "" if storage == "float32" else f" or {_DTYPES[storage]}"
            raise FormatError(
                file,
                "wrong number type",
                key=name,
                found=tensor.dtype,
                expected=f"{torch.float32}{packed}",
            )
        if tensor.dtype == torch.int8:
            scale = _checked_scale(stored.get(name + SCALE_SUFFIX), name, tensor, file)
            tensors[name] = tensor * scale.view(-1, *[1] * (tensor.ndim - 1))  # float32
        elif storage == "int8" and name.endswith(SCALE_SUFFIX):
            if name not in scales:
                raise FormatError(file, "scale without an int8 tensor", key=name)
        else:
            tensors[name] = tensor.to(torch.float32)
    return tensors


def checked_storage(storage: str) -> Storage:
    """Give ``storage`` back if it is a way of storing tensors."""
    if storage not in get_args(Storage):
        raise InputError(
            f"storage: expected one of {', '.join(get_args(Storage))}, found {storage!r}"
        )
    return cast(Storage, storage)


def _is_packed(name: str, tensor: Tensor) -> bool:
    return (
        tensor.ndim >= 2 and tensor.numel() >= LEAST_NUMBERS and not name.startswith(KEPT_PREFIXES)
    )


def _to_float16(name: str, tensor: Tensor) -> Tensor:
    stored = tensor.contiguous().to(torch.float16)
    if not bool(torch.isfinite(stored).all()):
        largest = float(tensor.abs().max())
        raise InputError(
            f"storage: float16 cannot hold the tensor {name!r}, whose largest value is "
            f"{largest:g}; choose float32 or int8"
        )
    return stored


def _to_int8(name: str, tensor: Tensor) -> tuple[Tensor, Tensor]:
    rows = tensor.to(torch.float32).contiguous().flatten(1)  # (rows, numbers of a row)
    scale = rows.abs().amax(dim=1) / LARGEST_INT8  # (rows,)
    if not bool(torch.isfinite(scale).all()):
        raise InputError(
            f"storage: int8 cannot hold the tensor {name!r}, which has NaN or infinity"
        )
    # A row of zeros has the scale 0 and is no matter of division.
    divisor = torch.where(scale > 0, scale, 1.0)[:, None]
    whole = (rows / divisor).round_().clamp_(-LARGEST_INT8, LARGEST_INT8).to(torch.int8)
    return whole.view(tensor.shape), scale


def _checked_scale(scale: Tensor | None, name: str, tensor: Tensor, file: Path) -> Tensor:
    key = name + SCALE_SUFFIX
    rows = tuple(tensor.shape[:1])
    if scale is None:
        raise FormatError(
            file, "scale of an int8 tensor missing", key=key, expected=f"shape {rows}"
        )
    if scale.dtype != torch.float32:
        raise FormatError(
            file, "wrong number type", key=key, found=scale.dtype, expected=torch.float32
        )
    if not rows or tuple(scale.shape) != rows:
        raise FormatError(
            file,
            "scale of the wrong shape",
            key=key,
            found=tuple(scale.shape),
            expected=f"{rows}, one for each row of {name!r}",
        )
    bad = scale[~(torch.isfinite(scale) & (scale >= 0))]
    if len(bad):
        raise FormatError(
            file,
            "wrong scale",
            key=key,
            found=float(bad[0]),
            expected="a finite number, 0 or above",
            hint="the file is damaged",
        )
    return scale
