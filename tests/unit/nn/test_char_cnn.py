from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.highway import HighwayLayer

FILTERS = ((1, 2), (2, 3), (4, 5))


def double_cnn(
    activation: Literal["relu", "tanh"] = "relu", highway_layers: int = 0
) -> CharacterCNN:
    torch.manual_seed(2)
    cnn = CharacterCNN(
        alphabet_size=10,
        embedding_dim=3,
        filters=FILTERS,
        activation=activation,
        highway_layers=highway_layers,
    ).double()
    for parameter in cnn.parameters():
        nn.init.normal_(parameter)
    return cnn


def direct(cnn: CharacterCNN, row: list[int]) -> np.ndarray:
    """Give one word's features with plain loops, before activation and highway layers."""
    embedded = cnn.embedding.weight.detach().numpy()[row]
    features = []
    for convolution in cnn.convolutions:
        assert isinstance(convolution, nn.Conv1d)
        assert convolution.bias is not None
        weight = convolution.weight.detach().numpy()
        bias = convolution.bias.detach().numpy()
        number, _, width = weight.shape
        for index in range(number):
            answers = []
            for start in range(len(row) - width + 1):
                window = embedded[start : start + width]  # (width, E)
                answers.append((window * weight[index].T).sum() + bias[index])
            features.append(max(answers))
    return np.array(features)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_formula(activation: Literal["relu", "tanh"]) -> None:
    cnn = double_cnn(activation)
    rows = [[0, 1, 2, 3, 4, 5], [9, 9, 9, 9, 9, 9], [1, 8, 1, 8, 1, 8]]
    pooled = np.array([direct(cnn, row) for row in rows])
    expected = np.maximum(pooled, 0) if activation == "relu" else np.tanh(pooled)
    features = cnn(torch.tensor(rows)).detach().numpy()
    assert cnn.output_dim == features.shape[1] == 10
    np.testing.assert_allclose(features, expected, rtol=0, atol=1e-13)


def test_highway_layers_follow_in_order() -> None:
    cnn = double_cnn(highway_layers=2)
    rows = torch.tensor([[0, 1, 2, 3, 4, 5]])
    expected = torch.from_numpy(np.maximum(direct(cnn, rows[0].tolist()), 0))[None]
    first, second = cnn.highway
    assert isinstance(first, HighwayLayer)
    torch.testing.assert_close(cnn(rows), second(first(expected)), rtol=0, atol=1e-12)
    assert (cnn(rows) - first(second(expected))).abs().max() > 1e-3


def test_padding_is_an_ordinary_character() -> None:
    """The last row of the table is the padding of a byte alphabet; its vector counts."""
    cnn = double_cnn("tanh")
    rows = torch.tensor([[0, 1, 9, 9, 9, 9]])
    before = cnn(rows)
    nn.init.constant_(cnn.embedding.weight[9], 5.0)
    assert (cnn(rows) - before).abs().max() > 1e-3


def test_words_are_independent() -> None:
    cnn = double_cnn()
    rows = torch.randint(0, 10, (8, 6))
    together = cnn(rows)
    for index in range(len(rows)):
        torch.testing.assert_close(cnn(rows[index : index + 1])[0], together[index])


def test_no_words() -> None:
    assert double_cnn()(torch.zeros(0, 6, dtype=torch.int64)).shape == (0, 10)


def test_gradients_reach_every_parameter() -> None:
    cnn = double_cnn("tanh", highway_layers=1)
    cnn(torch.randint(0, 10, (30, 6))).square().sum().backward()
    for name, parameter in cnn.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize(("activation", "bound"), [("relu", 0.05), ("tanh", None)])
def test_initial_values_are_those_of_bilm_tf(
    activation: Literal["relu", "tanh"], bound: float | None
) -> None:
    torch.manual_seed(3)
    cnn = CharacterCNN(
        alphabet_size=261, embedding_dim=16, filters=((5, 400),), activation=activation
    )
    assert cnn.embedding.weight.abs().max() <= 1
    assert float(cnn.embedding.weight.detach().std()) == pytest.approx(3**-0.5, rel=0.05)
    (convolution,) = cnn.convolutions
    assert isinstance(convolution, nn.Conv1d)
    assert convolution.bias is not None
    assert (convolution.bias == 0).all()
    if bound is not None:
        assert convolution.weight.abs().max() <= bound
        assert convolution.weight.abs().max() > 0.9 * bound
    else:
        assert float(convolution.weight.detach().std()) == pytest.approx(80**-0.5, rel=0.05)
