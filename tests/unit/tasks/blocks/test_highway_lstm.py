"""The highway LSTM against one that is written down plainly, in outputs and gradients.

Where there is no GPU, its kernels run in Triton's interpreter.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmokit.tasks.blocks.highway_lstm import HighwayLSTM
from elmokit.tasks.blocks.highway_recurrence import run_layer

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU"))]  # fmt: skip
NAMES = ("input_weight", "recurrent_weight", "bias")
HERE = Path(__file__).parent
INTERPRETED = """
import torch
from elmokit.tasks.blocks import highway_recurrence, highway_recurrence_triton as kernels

generator = torch.Generator().manual_seed(1)
def random(*shape): return torch.randn(*shape, generator=generator)
steps, rows = 3, 18
for size, has_kept in (70, True), (5, False):
    gates, recurrent = random(steps, rows, 6 * size), random(5 * size, size) / 5
    kept = random(rows, size).sign().add(1) if has_kept else None
    bias = random(5 * size)
    states = torch.full((2, steps, rows, size), torch.nan)
    expected_gates, expected_states = gates.clone(), states.clone()
    highway_recurrence.forward_(expected_gates, *expected_states, recurrent, bias, kept)
    kernels.forward_(gates, *states, recurrent, bias, kept)
    torch.testing.assert_close(gates, expected_gates, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(states, expected_states, atol=1e-5, rtol=1e-5)
    grad = random(steps, rows, size)
    expected = highway_recurrence.backward(gates, states[0], recurrent, kept, grad)
    found = kernels.backward(gates, states[0], recurrent, kept, grad)
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-5)
"""


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def layer_tensors(size: int, width: int, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    shapes = ((6 * size, width), (5 * size, size), (5 * size,))
    return {
        name: random(*shape, seed=seed, dtype=dtype).div(size**0.5).requires_grad_()
        for seed, (name, shape) in enumerate(zip(NAMES, shapes, strict=True), start=1)
    }


def plain_layer(inputs: Tensor, layer: dict[str, Tensor], kept: Tensor | None) -> Tensor:
    """Run one text (T, I) forwards; ``kept`` (H,) are the factors of dropout."""
    at_input = dict(zip("orifgp", layer["input_weight"].chunk(6), strict=True))
    at_hidden = dict(zip("orifg", layer["recurrent_weight"].chunk(5), strict=True))
    bias = dict(zip("orifg", layer["bias"].chunk(5), strict=True))
    hidden = cell = torch.zeros_like(bias["o"])
    outputs = []
    for x in inputs:
        pre = {gate: at_input[gate] @ x + at_hidden[gate] @ hidden + bias[gate] for gate in "orifg"}
        gates = {gate: torch.sigmoid(pre[gate]) for gate in "orif"}
        cell = gates["f"] * cell + gates["i"] * torch.tanh(pre["g"])
        hidden = gates["o"] * torch.tanh(cell)
        hidden = gates["r"] * hidden + (1 - gates["r"]) * (at_input["p"] @ x)
        if kept is not None:
            hidden = hidden * kept
        outputs.append(hidden)
    return torch.stack(outputs)


def plain_lstm(lstm: HighwayLSTM, inputs: Tensor) -> Tensor:
    """Run one text (T, D) through all layers."""
    values = inputs
    for number, layer in enumerate(lstm.layers):
        backwards = number % 2 == 1
        values = values.flip(0) if backwards else values
        values = plain_layer(values, dict(layer.named_parameters()), None)
        values = values.flip(0) if backwards else values
    return values


@pytest.mark.parametrize("dropped", [False, True])
def test_layer_is_that_of_the_paper(dropped: bool) -> None:
    layer = layer_tensors(5, 3)
    inputs = random(4, 2, 3, seed=7).requires_grad_()
    kept = random(2, 5, seed=8).sign().add(1) if dropped else None
    weighting = random(4, 2, 5, seed=9)
    found = run_layer(inputs, **layer, kept=kept)
    expected = torch.stack(
        [
            plain_layer(inputs[:, row], layer, None if kept is None else kept[row])
            for row in range(2)
        ],
        dim=1,
    )
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    tensors = [inputs, *layer.values()]
    gradients = torch.autograd.grad((found * weighting).sum(), tensors)
    wanted = torch.autograd.grad((expected * weighting).sum(), tensors)
    for gradient, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(gradient, other, atol=1e-12, rtol=0)


def test_gradients_are_those_of_small_differences() -> None:
    layer = layer_tensors(3, 2)
    kept = random(2, 3, seed=8).sign().add(1)

    def run(inputs: Tensor, *weights: Tensor) -> Tensor:
        return run_layer(inputs, **dict(zip(NAMES, weights, strict=True)), kept=kept)

    inputs = random(3, 2, 2, seed=5).requires_grad_()
    assert torch.autograd.gradcheck(run, (inputs, *layer.values()))


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_layers_alternate_and_ignore_padding(layers: int) -> None:
    torch.manual_seed(0)
    lstm = HighwayLSTM(input_dim=6, hidden_dim=4, layers=layers, dropout=0.3).eval()
    lengths = [3, 7, 1, 5]
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    inputs = random(4, 8, 6, dtype=torch.float32)
    found = lstm(inputs, mask)
    assert found.shape == (4, 8, 4)
    assert torch.equal(found[~mask], torch.zeros_like(found[~mask]))
    for row, length in enumerate(lengths):
        expected = plain_lstm(lstm, inputs[row, :length])
        torch.testing.assert_close(found[row, :length], expected, atol=1e-6, rtol=0)
    found[0].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in lstm.parameters())


def test_weights_begin_orthonormal_with_open_forget_gates() -> None:
    lstm = HighwayLSTM(input_dim=7, hidden_dim=4, layers=2)
    for layer in lstm.layers:
        values = dict(layer.named_parameters())
        parts = [*values["input_weight"].chunk(6), *values["recurrent_weight"].chunk(5)]
        for part in parts:
            torch.testing.assert_close(part @ part.t(), torch.eye(4), atol=1e-5, rtol=0)
        assert values["bias"].tolist() == [0.0] * 12 + [1.0] * 4 + [0.0] * 4


def test_dropout_drops_the_same_numbers_at_every_token() -> None:
    torch.manual_seed(0)
    lstm = HighwayLSTM(input_dim=3, hidden_dim=50, layers=1, dropout=0.5)
    inputs, mask = torch.randn(2, 6, 3), torch.ones(2, 6, dtype=torch.bool)
    dropped = lstm(inputs, mask) == 0
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert not torch.equal(dropped[0], dropped[1])
    assert 0.3 < dropped.float().mean() < 0.7
    torch.manual_seed(1)
    first = lstm(inputs, mask)
    torch.manual_seed(1)
    assert torch.equal(lstm(inputs, mask), first)


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_stays_near(device: str) -> None:
    torch.manual_seed(0)
    lstm = HighwayLSTM(input_dim=12, hidden_dim=20, layers=2).to(device)
    inputs = random(3, 5, 12, dtype=torch.float32).to(device)
    mask = torch.ones(3, 5, dtype=torch.bool, device=device)
    found = []
    for narrow in (False, True):
        lstm.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=narrow):
            outputs = lstm(inputs, mask)
        assert outputs.dtype == (torch.bfloat16 if narrow else torch.float32)
        outputs.float().square().sum().backward()
        found.append([outputs.float(), *(p.grad for p in lstm.parameters())])
    for exact, near in zip(*found, strict=True):
        assert near.dtype == torch.float32
        assert (near - exact).norm() < 0.03 * exact.norm()


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU runs them for real")
def test_kernels_equal_the_plain_steps_without_a_gpu() -> None:
    subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=300,
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize(("rows", "steps"), [(80, 37), (3, 1), (40, 120), (300, 9), (3000, 4)])
def test_kernels_equal_the_plain_steps(rows: int, steps: int, dropped: bool) -> None:
    """With the paper's size; so many rows that they do not run at the same time, too."""
    layer = layer_tensors(300, 70)
    inputs = random(steps, rows, 70, seed=7).requires_grad_()
    kept = random(rows, 300, seed=8).sign().add(1) if dropped else None
    weighting = random(steps, rows, 300, seed=9) / rows
    tensors = [inputs, *layer.values()]
    exact = run_layer(inputs, **layer, kept=kept)
    wanted = [exact, *torch.autograd.grad((exact * weighting).sum(), tensors)]
    there = [t.detach().to("cuda", torch.float32).requires_grad_() for t in tensors]
    for _ in range(3):  # programs that did not wait for one another would differ
        near = run_layer(
            there[0], **dict(zip(NAMES, there[1:], strict=True)),
            kept=None if kept is None else kept.to("cuda", torch.float32),
        )  # fmt: skip
        found = [near, *torch.autograd.grad((near * weighting.cuda()).sum(), there)]
        for value, expected in zip(found, wanted, strict=True):
            assert (value.cpu() - expected).norm() <= 5e-6 * expected.norm()
