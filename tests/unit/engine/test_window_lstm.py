"""The window LSTM against `nn.ProjectedLSTM` under autograd, in outputs, state and gradients."""

import pytest
import torch
from torch import Tensor

from elmokit.engine.window_lstm import LayerLimits, LayerOutput, LayerWeights, run_layer
from elmokit.nn.projected_lstm import ProjectedLSTM

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU"))]  # fmt: skip

ROWS, STEPS, INPUT, CELLS, OUTPUT = 5, 7, 6, 11, 4


def make_layers(
    *, projected: bool, cell_clip: float | None, projection_clip: float | None
) -> list[ProjectedLSTM]:
    torch.manual_seed(1)
    layers = [
        ProjectedLSTM(
            input_dim=INPUT,
            hidden_dim=CELLS,
            projection_dim=OUTPUT if projected else None,
            cell_clip=cell_clip,
            projection_clip=projection_clip,
        )
        for _ in range(2)
    ]
    for layer in layers:
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
    return layers


def stacked(layers: list[ProjectedLSTM]) -> LayerWeights:
    projections = [
        layer.projection_weight for layer in layers if layer.projection_weight is not None
    ]
    return LayerWeights(
        torch.stack([layer.input_weight for layer in layers]),
        torch.stack([layer.recurrent_weight for layer in layers]),
        torch.stack([layer.gate_bias() for layer in layers]),
        torch.stack(list(projections)) if projections else None,
    )


def run_plain(
    layers: list[ProjectedLSTM], inputs: Tensor, cell: Tensor, hidden: Tensor, keep: Tensor
) -> LayerOutput:
    parts = [
        layer(
            inputs[direction].transpose(0, 1),
            [ROWS] * inputs.shape[1],
            cell[direction],
            hidden[direction],
            keep[direction].t() == 0,
        )
        for direction, layer in enumerate(layers)
    ]
    outputs, cells, hiddens = zip(*parts, strict=True)
    return LayerOutput(
        torch.stack([output.transpose(0, 1) for output in outputs]),
        torch.stack(cells),
        torch.stack(hiddens),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize(("cell_clip", "projection_clip"), [(None, None), (0.5, 0.2)])
@pytest.mark.parametrize("resets", [False, True])
def test_equals_the_plain_layer(
    device: str,
    projected: bool,
    cell_clip: float | None,
    projection_clip: float | None,
    resets: bool,
) -> None:
    """Float32 both ways: sums in another order differ by 1e-6 at most at this size."""
    layers = [
        layer.to(device)
        for layer in make_layers(
            projected=projected, cell_clip=cell_clip, projection_clip=projection_clip
        )
    ]
    width = layers[0].output_dim
    generator = torch.Generator().manual_seed(2)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    cell, hidden = random(2, ROWS, CELLS).clamp(-0.5, 0.5), random(2, ROWS, width)
    keep = torch.ones(2, STEPS, ROWS, device=device)
    if resets:
        keep = (random(2, STEPS, ROWS) > -0.3).float()
    weighting = random(2, STEPS, ROWS, width)
    found = []
    for fused in (False, True):
        inputs = torch.randn(2, STEPS, ROWS, INPUT, generator=torch.Generator().manual_seed(3))
        inputs = inputs.to(device).requires_grad_()
        for layer in layers:
            layer.zero_grad()
        if fused:
            limits = LayerLimits(cell_clip, projection_clip)
            output = run_layer(inputs, stacked(layers), limits, cell=cell, hidden=hidden, keep=keep)
            assert not output.last_cell.requires_grad
            assert not output.last_hidden.requires_grad
        else:
            output = run_plain(layers, inputs, cell, hidden, keep)
        (output.hidden * weighting).sum().backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for layer in layers for p in layer.parameters()]
        found.append([*output, inputs.grad, *gradients])
    for plain, fused_value in zip(*found, strict=True):
        assert plain is not None
        assert fused_value is not None
        torch.testing.assert_close(fused_value, plain, rtol=1e-5, atol=2e-6)


def test_gradients_are_those_of_small_differences() -> None:
    """A check that shares no code with the plain layer; clipping is off, where it has kinks."""
    layers = make_layers(projected=True, cell_clip=None, projection_clip=None)
    weights = [w.detach().requires_grad_() for w in stacked(layers) if w is not None]
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(2, 3, 2, INPUT, generator=generator).requires_grad_()
    cell, hidden = torch.zeros(2, 2, CELLS), torch.zeros(2, 2, OUTPUT)
    keep = torch.tensor([[[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]] * 2)

    def loss(*tensors: Tensor) -> Tensor:
        output = run_layer(
            tensors[0],
            LayerWeights(*tensors[1:]),
            LayerLimits(None, None),
            cell=cell,
            hidden=hidden,
            keep=keep,
        )
        return output.hidden.sin().sum()

    tensors = [inputs, *weights]
    gradients = torch.autograd.grad(loss(*tensors), tensors)
    step = 1e-2  # float32: the error of the difference is smallest near the cube root of 1e-7
    for index, gradient in enumerate(gradients):
        direction = torch.randn(gradient.shape, generator=generator)
        direction /= direction.norm()
        ends = []
        for sign in (1, -1):
            moved = [t.detach() for t in tensors]
            moved[index] = moved[index] + sign * step * direction
            ends.append(loss(*moved).double())
        slope = float((ends[0] - ends[1]) / (2 * step))
        assert slope == pytest.approx(float((gradient * direction).sum()), abs=2e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_stays_near(device: str) -> None:
    """Products of 8-bit mantissas: one in a hundred for outputs, a few for gradients."""
    layers = [
        layer.to(device)
        for layer in make_layers(projected=True, cell_clip=3.0, projection_clip=3.0)
    ]
    generator = torch.Generator().manual_seed(4)
    inputs = torch.randn(2, STEPS, ROWS, INPUT, generator=generator).to(device)
    cell = torch.zeros(2, ROWS, CELLS, device=device)
    hidden = torch.zeros(2, ROWS, OUTPUT, device=device)
    keep = torch.ones(2, STEPS, ROWS, device=device)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        for layer in layers:
            layer.zero_grad()
        output = run_layer(
            inputs.to(dtype), stacked(layers), LayerLimits(3.0, 3.0),
            cell=cell, hidden=hidden, keep=keep,
        )  # fmt: skip
        assert output.hidden.dtype == dtype
        assert output.last_cell.dtype == torch.float32
        output.hidden.float().square().sum().backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for layer in layers for p in layer.parameters()]
        assert all(g is not None and g.dtype == torch.float32 for g in gradients)
        found.append([output.hidden, *gradients])
    for exact, narrow in zip(*found, strict=True):
        assert exact is not None
        assert narrow is not None
        assert (narrow.float() - exact).norm() < 0.03 * exact.norm()
