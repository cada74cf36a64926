"""The optimisers to choose from, and their state by the names of parameters."""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

OptimiserName = Literal["adamw", "adagrad"]

# Tensors of a parameter's size that an optimiser keeps for it.
MOMENTS: dict[OptimiserName, int] = {"adamw": 2, "adagrad": 1}

# bilm-tf starts Adagrad's sums at 1.
ADAGRAD_START = 1.0


def build_optimiser(
    name: OptimiserName,
    parameters: Mapping[str, nn.Parameter],
    *,
    weight_decay: float = 0.0,
    beta2: float = 0.999,
) -> torch.optim.Optimizer:
    """Make an optimiser; its learning rate is set before every step.

    Weight decay acts on matrices, not on biases.
    """
    matrices = [p for p in parameters.values() if p.ndim > 1]
    vectors = [p for p in parameters.values() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if name == "adagrad":
        on_cpu = all(p.device.type == "cpu" for p in parameters.values())  # the only fused one
        return torch.optim.Adagrad(
            groups, lr=0.0, initial_accumulator_value=ADAGRAD_START, fused=on_cpu or None
        )
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, beta2), fused=True)


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Use this rate for the next step."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def optimiser_tensors(
    optimiser: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter]
) -> dict[str, Tensor]:
    """Give the optimiser's state as ``parameter/part``."""
    return {
        f"{name}/{part}": torch.as_tensor(value)
        for name, parameter in parameters.items()
        for part, value in optimiser.state[parameter].items()
    }


def load_optimiser_tensors(
    optimiser: torch.optim.Optimizer,
    parameters: Mapping[str, nn.Parameter],
    tensors: Mapping[str, Tensor],
) -> None:
    """Put a state of `optimiser_tensors` back."""
    for key, value in tensors.items():
        name, part = key.rsplit("/", 1)
        parameter = parameters[name]
        # The count of steps stays where the optimiser keeps it; the rest goes to its parameter.
        device = parameter.device
        if part == "step" and not optimiser.defaults.get("fused"):
            device = torch.device("cpu")
        optimiser.state[parameter][part] = value.clone().to(device)
