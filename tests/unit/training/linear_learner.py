"""A learner small enough to see through: a line through points, and a memory of what it saw."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

Disturbance = Callable[[int, "LinearLearner", Tensor], Tensor]
"""Given a step, the learner with its gradients and the loss, gives the loss to report."""


class LinearLearner:
    """Fits ``y = 2x + 1``; the memory, which it carries from step to step, shifts the inputs."""

    item = "points"
    items_per_step = 8
    steps_per_epoch = 5

    def __init__(self, disturb: Disturbance | None = None) -> None:
        self.weight = nn.Parameter(torch.zeros(1, 1))
        self.bias = nn.Parameter(torch.zeros(1))
        self.memory = torch.zeros(8)
        self.steps_seen: list[int] = []
        self.done = False
        self.looked_at: list[int] = []
        self._disturb = disturb

    @property
    def parameters(self) -> Mapping[str, nn.Parameter]:
        return {"weight": self.weight, "bias": self.bias}

    def gradients(self, step: int) -> Mapping[str, Tensor]:
        self.steps_seen.append(step)
        generator = torch.Generator().manual_seed(step)
        inputs = torch.rand(8, 1, generator=generator) + self.memory[:, None]
        targets = 2 * inputs + 1
        loss = (inputs @ self.weight.t() + self.bias - targets).square().mean()
        torch.autograd.backward(loss)
        self.memory = 0.5 * self.memory + 0.1 * inputs.detach()[:, 0]
        if self._disturb is not None:
            loss = self._disturb(step, self, loss.detach())
        return {"point_loss": loss}

    def after(self, step: int) -> None:
        self.looked_at.append(step)

    def observations(self) -> Mapping[str, float]:
        return {"largest_memory": float(self.memory.abs().max())}

    def forget(self) -> None:
        self.memory = torch.zeros(8)

    def state(self) -> dict[str, Tensor]:
        return {"memory": self.memory}

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        self.memory = tensors["memory"].clone()


def nan_loss(*steps: int) -> Disturbance:
    """Let the loss of these steps be NaN, with gradients that are not."""
    return lambda step, learner, loss: loss * math.nan if step in steps else loss


def infinite_gradient(*steps: int) -> Disturbance:
    """Let one number of these steps' gradients be infinite, with a loss that is not."""

    def disturb(step: int, learner: LinearLearner, loss: Tensor) -> Tensor:
        if step in steps:
            learner.bias.grad = torch.full((1,), math.inf)
        return loss

    return disturb
