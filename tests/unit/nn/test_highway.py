import numpy as np
import torch

from elmokit.nn.highway import HighwayLayer


def double_layer(dim: int) -> HighwayLayer:
    torch.manual_seed(1)
    layer = HighwayLayer(dim=dim).double()
    torch.nn.init.normal_(layer.transform.bias)
    torch.nn.init.normal_(layer.gate.bias)
    return layer


def test_formula() -> None:
    layer = double_layer(5)
    inputs = torch.randn(7, 5, dtype=torch.float64)
    x = inputs.numpy()
    weights = {name: tensor.numpy() for name, tensor in layer.state_dict().items()}
    gate = 1 / (1 + np.exp(-(x @ weights["gate.weight"].T + weights["gate.bias"])))
    transformed = np.maximum(x @ weights["transform.weight"].T + weights["transform.bias"], 0)
    expected = gate * transformed + (1 - gate) * x
    np.testing.assert_allclose(layer(inputs).detach().numpy(), expected, rtol=0, atol=1e-13)


def test_closed_gate_passes_the_input_and_open_gate_the_transform() -> None:
    layer = double_layer(4)
    inputs = torch.randn(3, 4, dtype=torch.float64)
    torch.nn.init.zeros_(layer.gate.weight)
    torch.nn.init.constant_(layer.gate.bias, -1000.0)
    torch.testing.assert_close(layer(inputs), inputs)
    torch.nn.init.constant_(layer.gate.bias, 1000.0)
    torch.testing.assert_close(layer(inputs), layer.transform(inputs).relu())


def test_starts_close_to_the_identity() -> None:
    layer = HighwayLayer(dim=6)
    assert (layer.gate.bias == -2).all()
    assert (layer.transform.bias == 0).all()


def test_any_leading_shape() -> None:
    layer = double_layer(4)
    inputs = torch.randn(2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(inputs)[1], layer(inputs[1]))
