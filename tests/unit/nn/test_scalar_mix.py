import numpy as np
import pytest
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.nn.scalar_mix import ScalarMix

LAYERS, ROWS, STEPS, SIZE = 3, 2, 5, 8
WEIGHTS = [0.1, -0.4, 0.7]


@pytest.fixture
def layers() -> list[Tensor]:
    rng = np.random.default_rng(9)
    return [
        torch.from_numpy(rng.standard_normal((ROWS, STEPS, SIZE)) * scale + mean)
        for scale, mean in ((1, 0.3), (2, -0.5), (0.5, 1.0))
    ]


@pytest.fixture
def mask() -> Tensor:
    return torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)


def softmax(values: list[float]) -> np.ndarray:
    exponents = np.exp(np.array(values))
    return np.asarray(exponents / exponents.sum())


def assert_close(found: Tensor, expected: np.ndarray) -> None:
    # The weights are kept in float32, whatever is mixed.
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=2e-6)


def test_formula(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS, gamma=1.3)
    expected = sum(
        1.3 * share * layer.numpy() for share, layer in zip(softmax(WEIGHTS), layers, strict=True)
    )
    mixed = mix(layers)
    assert mixed.dtype == torch.float64
    assert_close(mixed, np.asarray(expected))
    assert_close(mix.normalised_weights(), softmax(WEIGHTS))


def test_uniform_at_first(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS)
    assert mix.weights.tolist() == [0, 0, 0]
    assert mix.gamma.item() == 1
    assert mix.weights.requires_grad
    assert mix.gamma.requires_grad
    assert mix.normalised_weights().tolist() == pytest.approx([1 / 3] * 3)
    assert_close(mix(layers), np.mean([layer.numpy() for layer in layers], axis=0))


def test_gamma_scales_all(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS)
    plain = mix(layers)
    torch.nn.init.constant_(mix.gamma, -2.5)
    torch.testing.assert_close(mix(layers), -2.5 * plain)


def test_weights_shifted_together_mix_alike(layers: list[Tensor]) -> None:
    shifted = ScalarMix(layers=LAYERS, weights=[weight + 1 / 3 for weight in WEIGHTS])
    assert_close(
        shifted(layers), ScalarMix(layers=LAYERS, weights=WEIGHTS)(layers).detach().numpy()
    )


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_layer_norm_over_all_unmasked_positions(
    layers: list[Tensor], mask: Tensor, kind: torch.dtype
) -> None:
    """One mean and one variance per layer, over positions and dimensions together."""
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS, gamma=1.3, layer_norm=True)
    mixed = mix(layers, mask.to(kind))
    expected = np.zeros((ROWS, STEPS, SIZE))
    for share, layer in zip(softmax(WEIGHTS), layers, strict=True):
        values = layer.numpy()
        kept = values[mask.numpy()]  # (8, D)
        assert kept.shape == (8, SIZE)
        expected += 1.3 * share * (values - kept.mean()) / np.sqrt(kept.var() + 1e-12)
    assert_close(mixed, expected)


def test_layer_norm_is_blind_to_padding(layers: list[Tensor], mask: Tensor) -> None:
    mix = ScalarMix(layers=LAYERS, layer_norm=True)
    before = mix(layers, mask)[mask]
    changed = [torch.where(mask[:, :, None], layer, 100.0) for layer in layers]
    torch.testing.assert_close(mix(changed, mask)[mask], before)


def test_layer_norm_without_any_spread(mask: Tensor) -> None:
    """A constant layer normalises to zero, and nothing left to normalise is no error."""
    mix = ScalarMix(layers=1, layer_norm=True)
    constant = torch.full((ROWS, STEPS, SIZE), 3.0)
    assert (mix([constant], mask) == 0).all()
    assert mix([constant], torch.zeros_like(mask)).isfinite().all()


@pytest.mark.parametrize(
    "kind",
    [
        torch.bfloat16,
        torch.float16,
    ],
)
def test_layer_norm_of_half_precision(kind: torch.dtype) -> None:
    """Sums over a whole batch need more digits than its values have."""
    torch.manual_seed(3)
    batch = [torch.randn(4, 30, 1024) * 2 + 0.5 for _ in range(2)]
    mask = torch.ones(4, 30, dtype=torch.bool)
    mix = ScalarMix(layers=2, layer_norm=True)
    mixed = mix([layer.to(kind) for layer in batch], mask)
    assert mixed.dtype == kind
    torch.testing.assert_close(mixed.float(), mix(batch, mask), rtol=0.02, atol=0.02)


def test_mask_does_nothing_without_layer_norm(layers: list[Tensor], mask: Tensor) -> None:
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS)
    assert (mix(layers, mask) == mix(layers)).all()


def test_directions_have_weights_of_their_own(layers: list[Tensor]) -> None:
    values = [0.2, -0.3, 0.5, 1.0, -0.8]
    mix = ScalarMix(layers=LAYERS, form="directions", weights=values, gamma=0.7)
    first, f1, f2, b1, b2 = softmax(values)
    assert_close(mix.normalised_weights(), softmax(values))
    arrays = [layer.numpy() for layer in layers]
    ahead, behind = slice(0, SIZE // 2), slice(SIZE // 2, None)
    expected = np.concatenate(
        [
            first * arrays[0][..., ahead] + f1 * arrays[1][..., ahead] + f2 * arrays[2][..., ahead],
            first * arrays[0][..., behind]
            + b1 * arrays[1][..., behind]
            + b2 * arrays[2][..., behind],
        ],
        axis=2,
    )
    assert_close(mix(layers), 0.7 * expected)


def test_directions_uniform_at_first(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS, form="directions")
    assert mix.normalised_weights().tolist() == pytest.approx([1 / 5] * 5)
    assert_close(mix(layers), 3 / 5 * np.mean([layer.numpy() for layer in layers], axis=0))


def test_directions_with_equal_weights_differ_from_layers_by_scale_only(
    layers: list[Tensor], mask: Tensor
) -> None:
    by_layers = ScalarMix(layers=LAYERS, layer_norm=True)(layers, mask)
    by_directions = ScalarMix(layers=LAYERS, form="directions", layer_norm=True)(layers, mask)
    torch.testing.assert_close(by_directions / 3, by_layers / 5)


def test_directions_over_one_layer(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=1, form="directions")
    assert mix.weights.shape == (1,)
    torch.testing.assert_close(mix(layers[:1]), layers[0])


@pytest.mark.parametrize("form", ["layers", "directions"])
def test_gradients_reach_weights_gamma_and_layers(form: str, layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS, form=form)  # type: ignore[arg-type]
    for layer in layers:
        layer.requires_grad_()
    mix(layers).square().sum().backward()
    assert mix.weights.grad is not None
    assert (mix.weights.grad != 0).all()
    assert mix.gamma.grad is not None
    assert mix.gamma.grad != 0
    for layer in layers:
        assert layer.grad is not None
        assert (layer.grad != 0).all()


def test_fixed_weights_are_not_trained(layers: list[Tensor]) -> None:
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS, gamma=1.5, trainable=False)
    assert not any(parameter.requires_grad for parameter in mix.parameters())
    layers[0].requires_grad_()
    mix(layers).sum().backward()
    assert mix.weights.grad is None
    # They are still part of the model: they travel with it.
    assert set(mix.state_dict()) == {"weights", "gamma"}
    assert mix.state_dict()["weights"].tolist() == pytest.approx(WEIGHTS)


def test_penalty() -> None:
    mix = ScalarMix(layers=LAYERS, weights=WEIGHTS, l2=0.5)
    assert mix.penalty().item() == pytest.approx(0.5 * sum(w * w for w in WEIGHTS))
    torch.autograd.backward(mix.penalty())
    assert mix.weights.grad is not None
    assert mix.weights.grad.tolist() == pytest.approx(WEIGHTS)
    assert mix.gamma.grad is None
    assert ScalarMix(layers=LAYERS, weights=WEIGHTS).penalty().item() == 0


def test_errors_name_the_value(layers: list[Tensor]) -> None:
    with pytest.raises(InputError, match="layers: expected 1 or more representations, found 0"):
        ScalarMix(layers=0)
    with pytest.raises(InputError, match=r"form: .* found 'words'"):
        ScalarMix(layers=3, form="words")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="weights: expected 3 values, found 2"):
        ScalarMix(layers=3, weights=[0.0, 1.0])
    with pytest.raises(InputError, match="weights: expected 5 values, found 3"):
        ScalarMix(layers=3, form="directions", weights=WEIGHTS)
    with pytest.raises(InputError, match="over 3 layers, found 2"):
        ScalarMix(layers=3)(layers[:2])
    with pytest.raises(InputError, match="mask: layer norm"):
        ScalarMix(layers=3, layer_norm=True)(layers)
