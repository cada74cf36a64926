from typing import Any

import numpy as np
import pytest
import torch

from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.errors import InputError

LAYERS = list(torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(0)))  # 3 x (2, 5, 4)


def picked(layers: Layers) -> torch.Tensor:
    return LayerChoice(layers, count=3, dim=4).pick(LAYERS)


@pytest.mark.parametrize(("layers", "index"), [(0, 0), (2, 2), (-1, 2), (-3, 0), ("top", 2)])
def test_one_layer(layers: Layers, index: int) -> None:
    assert torch.equal(picked(layers), LAYERS[index])


def test_a_numpy_integer_is_a_number_of_a_layer() -> None:
    number: Any = np.int64(1)
    assert torch.equal(picked(number), LAYERS[1])


def test_average_is_the_mean() -> None:
    torch.testing.assert_close(picked("average"), torch.stack(LAYERS).mean(dim=0))


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_weights_are_used_as_given(kind: Any) -> None:
    expected = 2.0 * LAYERS[0] - 0.5 * LAYERS[1] + 0.0 * LAYERS[2]
    torch.testing.assert_close(picked(kind([2.0, -0.5, 0.0])), expected)


def test_all_puts_the_layers_first() -> None:
    assert torch.equal(picked("all"), torch.stack(LAYERS))


def test_picking_leaves_the_layers_as_they_are() -> None:
    before = [layer.clone() for layer in LAYERS]
    for layers in ("average", "top", "all", 0, [1.0, 1.0, 1.0]):
        picked(layers)
    assert all(torch.equal(a, b) for a, b in zip(before, LAYERS, strict=True))


@pytest.mark.parametrize(
    ("layers", "shape"), [("all", (3, 7, 4)), ("average", (7, 4)), (1, (7, 4)), ([1, 0, 0], (7, 4))]
)
def test_shape(layers: Layers, shape: tuple[int, ...]) -> None:
    assert LayerChoice(layers, count=3, dim=4).shape(7) == shape


@pytest.mark.parametrize(
    "value",
    [
        "bottom",
        "",
        "1",
        None,
        True,
        1.0,
        {},
        [],
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0],
        [1.0, 2.0, float("nan")],
        [1.0, 2.0, float("inf")],
        ["a", "b", "c"],
        [[1.0, 2.0, 3.0]],
        np.array(1),
    ],
)
def test_a_wrong_value_is_named_with_what_is_expected(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        LayerChoice(value, count=3, dim=4)
    message = str(caught.value)
    assert message.startswith("layers: expected 'average', 'top', 'all', the number of a layer")
    assert "3 layers" in message
    assert message.endswith(f"found {value!r}")


@pytest.mark.parametrize("value", [3, -4, 100])
def test_a_layer_that_is_not_there_is_named_with_the_range(value: int) -> None:
    with pytest.raises(InputError, match=rf"^layers: .*layers 0 to 2, found {value}$"):
        LayerChoice(value, count=3, dim=4)


def test_bytes_are_refused() -> None:
    value: Any = b"top"
    with pytest.raises(InputError, match="b'top'"):
        LayerChoice(value, count=3, dim=4)
