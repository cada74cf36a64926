"""How much memory a training will take, told before it starts.

T steps, B rows, L layers, H cell, P size of a direction, V vocabulary
"""

from pathlib import Path

import torch

from elmokit.config import ModelConfig
from elmokit.engine.softmax_loss import CPU_LOGITS, GPU_LOGITS
from elmokit.errors import InputError
from elmokit.formats.checkpoint import expected_tensors
from elmokit.lm.objective import DIRECTIONS
from elmokit.lm.settings import TrainSettings
from elmokit.training.optimiser import MOMENTS

# What torch and its libraries take by themselves.
BASE_BYTES = {"cpu": 400 * 2**20, "cuda": 1200 * 2**20}
# Distinct words of a window per token, and positions of a word that convolutions look at.
DISTINCT_SHARE, POSITIONS = 0.6, 24


def needed_bytes(
    config: ModelConfig, settings: TrainSettings, *, rows: int, device: str, types: int
) -> int:
    """Estimate what a process with ``rows`` rows needs at its peak."""
    number = 2 if settings.precision == "bfloat16" else 4
    sizes = [torch.Size(shape).numel() for shape in expected_tensors(config).values()]
    weights = sum(sizes) * 4 * (2 + MOMENTS[settings.optimiser])
    copies = sum(sizes) * (number + 4)  # narrow copies, gradients on their way
    tokens = DIRECTIONS * settings.window * rows // settings.accumulation
    cells, size = config.lstm_dim, config.projection_dim
    layer = tokens * (number * (5 * cells + 6 * size) + 4 * cells)
    vocabulary = config.softmax_size or 0
    columns = vocabulary if settings.samples is None else min(settings.samples, vocabulary)
    limit = (GPU_LOGITS if device == "cuda" else CPU_LOGITS) if settings.samples is None else None
    logits = tokens * columns if limit is None else min(limit, tokens * columns)
    words = 0
    if config.characters is not None:
        distinct = min(types, int(DISTINCT_SHARE * tokens))
        words = distinct * POSITIONS * config.characters.output_dim * number * 3
        words += types * config.characters.max_characters * 2
    passes = 2 if settings.samples is None else 6
    total = weights + copies + config.layers * layer + logits * number * passes + words
    return total + BASE_BYTES[device]


def free_bytes(device: torch.device) -> int | None:
    """Give what is free on a device; None where that cannot be known."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    found = [free for free in (_free_of_machine(), _free_of_container()) if free is not None]
    return min(found, default=None)


def _free_of_machine() -> int | None:
    file = Path("/proc/meminfo")
    if not file.exists():
        return None
    for line in file.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _free_of_container() -> int | None:
    """Give what a container's limit leaves (control groups, version 2)."""
    try:
        limit, used = (
            Path(f"/sys/fs/cgroup/memory.{name}").read_text().strip() for name in ("max", "current")
        )
    except OSError:
        return None
    return None if limit == "max" else int(limit) - int(used)


def check_memory(needed: int, free: int | None) -> str:
    """Say what will be used, or refuse to start."""
    about = f"about {needed / 2**30:.1f} GB of memory"
    if free is None:
        return about
    if needed > free:
        raise InputError(
            f"the training needs {about} and {free / 2**30:.1f} GB are free: use fewer rows, a "
            "shorter window, more accumulation (--set accumulation=4) or a smaller vocabulary "
            "(--set vocabulary_size=30000)"
        )
    return f"{about}, {free / 2**30:.1f} GB free"
