"""One layer, then stacks of them, in float64: what differs is a mistake, not rounding.

B rows, T steps, D input, H cell, P output
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.nn import projected_lstm
from elmokit.nn.projected_lstm import LSTMStack, LSTMState, ProjectedLSTM

TOLERANCE = 1e-12


def make_layer(
    *,
    input_dim: int = 4,
    hidden_dim: int = 7,
    projection_dim: int | None = 5,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
    forget_bias: float = 1.0,
    seed: int = 1,
) -> ProjectedLSTM:
    torch.manual_seed(seed)
    layer = ProjectedLSTM(
        input_dim=input_dim,
        hidden_dim=hidden_dim,
        projection_dim=projection_dim,
        cell_clip=cell_clip,
        projection_clip=projection_clip,
        forget_bias=forget_bias,
    ).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return layer


def make_stack(
    depth: int = 3, *, skip_connections: bool = True, dropout: float = 0.0, dim: int = 5
) -> LSTMStack:
    layers = [make_layer(input_dim=dim, projection_dim=dim, seed=seed) for seed in range(depth)]
    return LSTMStack(layers, skip_connections=skip_connections, dropout=dropout).double()


def random(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_equal(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


def active_rows(lengths: list[int], steps: int) -> list[int]:
    return [sum(length > step for length in lengths) for step in range(steps)]


def by_formula(layer: ProjectedLSTM, inputs: Tensor, cell: Tensor, hidden: Tensor) -> list[Tensor]:
    """Run one row (T, D) step by step with the equations of Sak et al. 2014 and the clips."""
    weights = {name: tensor.numpy() for name, tensor in layer.state_dict().items()}
    c, h = cell.numpy(), hidden.numpy()
    outputs = []
    for x in inputs.numpy():
        gates = weights["input_weight"] @ x + weights["recurrent_weight"] @ h + weights["bias"]
        i, f, g, o = np.split(gates, 4)
        c = c / (1 + np.exp(-f - layer.forget_bias)) + np.tanh(g) / (1 + np.exp(-i))
        if layer.cell_clip is not None:
            c = np.minimum(np.maximum(c, -layer.cell_clip), layer.cell_clip)
        h = np.tanh(c) / (1 + np.exp(-o))
        if "projection_weight" in weights:
            h = weights["projection_weight"] @ h
            if layer.projection_clip is not None:
                h = np.minimum(np.maximum(h, -layer.projection_clip), layer.projection_clip)
        outputs.append(h)
    return [torch.from_numpy(array) for array in (np.array(outputs), c, h)]


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
@pytest.mark.parametrize(("cell_clip", "projection_clip"), [(None, None), (0.3, 0.2)])
@pytest.mark.parametrize("projection_dim", [None, 5])
@torch.no_grad()
def test_formula(
    projection_dim: int | None,
    cell_clip: float | None,
    projection_clip: float | None,
    forget_bias: float,
) -> None:
    layer = make_layer(
        projection_dim=projection_dim,
        cell_clip=cell_clip,
        projection_clip=projection_clip,
        forget_bias=forget_bias,
    )
    size = projection_dim or 7
    assert layer.output_dim == size
    inputs = random(2, 6, 4)
    cell, hidden = random(2, 7, seed=4), random(2, size, seed=5)
    outputs, last_cell, last_hidden = layer(inputs, [2] * 6, cell, hidden)
    for row in range(2):
        expected = by_formula(layer, inputs[row], cell[row], hidden[row])
        assert_equal(outputs[row], expected[0])
        assert_equal(last_cell[row], expected[1])
        assert_equal(last_hidden[row], expected[2])
    if cell_clip is not None and projection_clip is not None:
        assert last_cell.abs().max() == cell_clip
        assert (outputs.abs().max() == projection_clip) == (projection_dim is not None)


@torch.no_grad()
def test_equals_torch_without_clips() -> None:
    """torch's own LSTM has the same gates and, since 1.8, the same projection."""
    layer = make_layer(forget_bias=0.0)
    theirs = torch.nn.LSTM(4, 7, proj_size=5, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict(
        {
            "weight_ih_l0": layer.input_weight,
            "weight_hh_l0": layer.recurrent_weight,
            "bias_ih_l0": layer.bias,
            "bias_hh_l0": torch.zeros_like(layer.bias),
            "weight_hr_l0": layer.projection_weight,
        }
    )
    inputs, cell, hidden = random(3, 6, 4), random(3, 7, seed=4), random(3, 5, seed=5)
    expected, (their_hidden, their_cell) = theirs(inputs, (hidden[None], cell[None]))
    outputs, last_cell, last_hidden = layer(inputs, [3] * 6, cell, hidden)
    assert_equal(outputs, expected)
    assert_equal(last_cell, their_cell[0])
    assert_equal(last_hidden, their_hidden[0])


@pytest.mark.parametrize("cut", [1, 3, 7])
@torch.no_grad()
def test_two_halves_equal_one_run(cut: int) -> None:
    stack = make_stack()
    inputs = random(2, 8, 5)
    outputs, state = stack(inputs, [2] * 8, stack.zero_state(2))
    first, between = stack(inputs[:, :cut], [2] * cut, stack.zero_state(2))
    second, after = stack(inputs[:, cut:], [2] * (8 - cut), between)
    for whole, start, rest in zip(outputs, first, second, strict=True):
        assert_equal(torch.cat([start, rest], dim=1), whole)
    assert_equal(after.cell, state.cell)
    assert_equal(after.hidden, state.hidden)


@torch.no_grad()
def test_rows_of_unlike_length_equal_rows_alone() -> None:
    stack = make_stack()
    lengths = [7, 7, 4, 1, 0]
    inputs = random(5, 7, 5)
    start = LSTMState(random(3, 5, 7, seed=6), random(3, 5, 5, seed=7))
    outputs, state = stack(inputs, active_rows(lengths, 7), start)
    for row, length in enumerate(lengths):
        alone, alone_state = stack(
            inputs[row : row + 1, :length],
            [1] * length,
            LSTMState(start.cell[:, row : row + 1], start.hidden[:, row : row + 1]),
        )
        for layer, alone_layer in zip(outputs, alone, strict=True):
            assert_equal(layer[row, :length], alone_layer[0])
        assert_equal(state.cell[:, row], alone_state.cell[:, 0])
        assert_equal(state.hidden[:, row], alone_state.hidden[:, 0])
    first_layer = outputs[0]
    for row, length in enumerate(lengths):
        assert (first_layer[row, length:] == 0).all()


@torch.no_grad()
def test_state_passed_in_is_left_alone() -> None:
    stack = make_stack()
    start = stack.zero_state(2)
    stack(random(2, 4, 5), [2, 2, 1, 1], start)
    assert (start.cell == 0).all()
    assert (start.hidden == 0).all()


@torch.no_grad()
def test_no_steps_leave_the_state_as_it_was() -> None:
    stack = make_stack(2)
    start = LSTMState(random(2, 3, 7), random(2, 3, 5))
    outputs, state = stack(random(3, 0, 5), [], start)
    assert [layer.shape for layer in outputs] == [(3, 0, 5)] * 2
    assert_equal(state.cell, start.cell)
    assert_equal(state.hidden, start.hidden)


@pytest.mark.parametrize("tokens", [1, 3, 7, 8, 24, 10_000])
@torch.no_grad()
def test_portions_of_the_input_product(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = make_stack()
    inputs = random(3, 8, 5)
    active = active_rows([8, 5, 2], 8)
    expected, expected_state = stack(inputs, active, stack.zero_state(3))
    monkeypatch.setattr(projected_lstm, "TOKENS_PER_PRODUCT", tokens)
    outputs, state = stack(inputs, active, stack.zero_state(3))
    for found, layer in zip(outputs, expected, strict=True):
        assert_equal(found, layer)
    assert_equal(state.cell, expected_state.cell)
    assert_equal(state.hidden, expected_state.hidden)


@pytest.mark.parametrize("depth", [1, 3])
@torch.no_grad()
def test_skip_connections_add_the_input_from_the_second_layer_on(depth: int) -> None:
    stack = make_stack(depth)
    plain = LSTMStack(list(stack.layers), skip_connections=False)  # type: ignore[arg-type]
    inputs = random(2, 5, 5)
    active = [2] * 5
    outputs, state = stack(inputs, active, stack.zero_state(2))
    layer_inputs = inputs
    for index, layer in enumerate(stack.layers):
        own, cell, hidden = layer(
            layer_inputs, active, *(torch.zeros(2, n).double() for n in (7, 5))
        )
        expected = own if index == 0 else own + layer_inputs
        assert_equal(outputs[index], expected)
        assert_equal(state.cell[index], cell)
        assert_equal(state.hidden[index], hidden)
        # The hidden state that goes on is the one before the sum.
        assert_equal(state.hidden[index], own[:, -1])
        layer_inputs = expected
    without, _ = plain(inputs, active, plain.zero_state(2))
    assert_equal(without[0], outputs[0])
    if depth > 1:
        assert (without[-1] - outputs[-1]).abs().max() > 0.01


def test_dropout_acts_on_every_input_and_the_skip_carries_the_dropped_one() -> None:
    stack = make_stack(2, dropout=0.5)
    inputs, active = random(2, 5, 5), [2] * 5
    zeros = stack.zero_state(2)

    torch.manual_seed(9)
    outputs, _ = stack(inputs, active, zeros)
    torch.manual_seed(9)
    first, second = stack.layers
    dropped = F.dropout(inputs, 0.5, training=True)
    expected, _, _ = first(dropped, active, zeros.cell[0], zeros.hidden[0])
    assert_equal(outputs[0], expected)
    dropped = F.dropout(expected, 0.5, training=True)
    assert (dropped == 0).any()
    expected, _, _ = second(dropped, active, zeros.cell[1], zeros.hidden[1])
    assert_equal(outputs[1], expected + dropped)

    stack.eval()
    undropped, _ = make_stack(2)(inputs, active, zeros)
    still, _ = stack(inputs, active, zeros)
    assert_equal(still[1], undropped[1])


@pytest.mark.parametrize("projection_dim", [None, 5])
def test_gradients_reach_every_parameter_and_the_start_state(projection_dim: int | None) -> None:
    size = projection_dim or 7
    layers = [make_layer(input_dim=size, projection_dim=projection_dim) for _ in range(2)]
    stack = LSTMStack(layers, skip_connections=True)
    start = LSTMState(
        random(2, 3, 7, seed=6).requires_grad_(), random(2, 3, size, seed=7).requires_grad_()
    )
    inputs = random(3, 6, size).requires_grad_()
    outputs, _ = stack(inputs, active_rows([6, 4, 2], 6), start)
    outputs[-1].square().sum().backward()
    for name, parameter in stack.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
    for tensor in start:
        assert tensor.grad is not None
        assert (tensor.grad.abs().amax(dim=2) > 0).all(), "every layer and every row"
    assert inputs.grad is not None
    for row, length in enumerate((6, 4, 2)):
        assert (inputs.grad[row, length:] == 0).all()
        assert (inputs.grad[row, :length].abs().amax(dim=1) > 0).all()


def test_gradients_are_right() -> None:
    """Against finite differences, through the clips and the shrinking batch."""
    layer = make_layer(
        input_dim=2, hidden_dim=3, projection_dim=2, cell_clip=0.6, projection_clip=0.5
    )
    names = [name for name, _ in layer.named_parameters()]

    def outputs_of(inputs: Tensor, cell: Tensor, hidden: Tensor, *values: Tensor) -> Tensor:
        found = torch.func.functional_call(
            layer, dict(zip(names, values, strict=True)), (inputs, [2, 2, 1], cell, hidden)
        )
        return torch.cat([part.flatten() for part in found])

    arguments = [random(2, 3, 2), random(2, 3, seed=4), random(2, 2, seed=5)]
    arguments += [parameter.detach().clone() for parameter in layer.parameters()]
    clipped = outputs_of(*arguments).abs()
    assert (clipped == 0.6).any()
    assert (clipped == 0.5).any()
    assert torch.autograd.gradcheck(
        outputs_of, [argument.requires_grad_() for argument in arguments]
    )


def test_zero_state() -> None:
    state = make_stack(3).zero_state(4)
    assert state.cell.shape == (3, 4, 7)
    assert state.hidden.shape == (3, 4, 5)
    assert state.cell.dtype == torch.float64
    assert not state.cell.any()
    assert not state.hidden.any()


def test_initial_values() -> None:
    """Glorot uniform over [input; hidden], biases 0: TensorFlow's LSTMCell."""
    torch.manual_seed(4)
    layer = ProjectedLSTM(input_dim=30, hidden_dim=40, projection_dim=20)
    bound = (6 / (30 + 20 + 160)) ** 0.5
    for weight in (layer.input_weight, layer.recurrent_weight):
        assert 0.95 * bound < weight.abs().max() <= bound
    assert (layer.bias == 0).all()
    assert layer.projection_weight is not None
    bound = (6 / (20 + 40)) ** 0.5
    assert 0.95 * bound < layer.projection_weight.abs().max() <= bound
