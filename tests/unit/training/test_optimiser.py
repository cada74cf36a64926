"""Optimisers by name, and their state in and out."""

from collections.abc import Mapping

import pytest
import torch
from torch import nn

from elmokit.training.optimiser import (
    MOMENTS,
    OptimiserName,
    build_optimiser,
    load_optimiser_tensors,
    optimiser_tensors,
    set_learning_rate,
)

NAMES: tuple[OptimiserName, ...] = ("adamw", "adagrad")


def parameters() -> dict[str, nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return {
        "layer/weight": nn.Parameter(torch.rand(3, 2, generator=generator)),
        "bias": nn.Parameter(torch.rand(2, generator=generator)),
    }


def step(own: Mapping[str, nn.Parameter], optimiser: torch.optim.Optimizer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in own.values():
        parameter.grad = torch.rand(parameter.shape, generator=generator)
    set_learning_rate(optimiser, 0.1 / (1 + seed))
    optimiser.step()


@pytest.mark.parametrize("name", NAMES)
def test_the_state_goes_round(name: OptimiserName) -> None:
    own = parameters()
    optimiser = build_optimiser(name, own, weight_decay=0.1, beta2=0.9)
    for seed in range(3):
        step(own, optimiser, seed)
    state = {key: tensor.clone() for key, tensor in optimiser_tensors(optimiser, own).items()}
    others = {key: nn.Parameter(value.detach().clone()) for key, value in own.items()}
    other = build_optimiser(name, others, weight_decay=0.1, beta2=0.9)
    load_optimiser_tensors(other, others, state)
    for seed in range(3, 6):
        step(own, optimiser, seed)
        step(others, other, seed)
    for key, value in own.items():
        assert torch.equal(value, others[key])
    # The tensors that were given away are not the optimiser's own.
    changed = optimiser_tensors(other, others)
    assert not any(torch.equal(tensor, changed[key]) for key, tensor in state.items())


@pytest.mark.parametrize("name", NAMES)
def test_as_many_moments_as_are_promised(name: OptimiserName) -> None:
    own = parameters()
    optimiser = build_optimiser(name, own)
    step(own, optimiser, 0)
    sizes = [t.shape for key, t in optimiser_tensors(optimiser, own).items() if "layer/" in key]
    assert sizes.count(own["layer/weight"].shape) == MOMENTS[name]


def test_weight_decay_acts_on_matrices_only() -> None:
    own = parameters()
    before = {key: value.detach().clone() for key, value in own.items()}
    optimiser = build_optimiser("adamw", own, weight_decay=0.5)
    for parameter in own.values():
        parameter.grad = torch.zeros_like(parameter)
    set_learning_rate(optimiser, 0.1)
    optimiser.step()
    torch.testing.assert_close(own["layer/weight"].detach(), before["layer/weight"] * 0.95)
    assert torch.equal(own["bias"], before["bias"])


def test_adagrad_is_the_original_trainings() -> None:
    own = {"bias": nn.Parameter(torch.tensor([1.0]))}
    optimiser = build_optimiser("adagrad", own)
    own["bias"].grad = torch.tensor([3.0])
    set_learning_rate(optimiser, 0.2)
    optimiser.step()
    # Sums of squares start at 1: 1 - 0.2 * 3 / sqrt(1 + 9).
    assert own["bias"].item() == pytest.approx(1 - 0.6 / 10**0.5)


def test_beta2_reaches_adamw() -> None:
    optimiser = build_optimiser("adamw", parameters(), beta2=0.98)
    assert optimiser.param_groups[0]["betas"] == (0.9, 0.98)
