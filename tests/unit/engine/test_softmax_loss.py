"""The chunked softmax loss against torch's cross entropy in float64."""

import pytest
import torch
import torch.nn.functional as F

from elmokit.engine import softmax_loss as module
from elmokit.engine.softmax_loss import softmax_loss

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU"))]  # fmt: skip

POSITIONS, SIZE = 37, 12


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("words", [50, 40_000])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 0.03)])
def test_equals_cross_entropy(
    device: str, words: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses and gradients; float32 to rounding, bfloat16 to its eight bits."""
    monkeypatch.setattr(module, "CPU_LOGITS", 10 * words)  # four chunks, the last one short
    monkeypatch.setattr(module, "GPU_LOGITS", 10 * words)
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(POSITIONS, SIZE, generator=generator)
    weight = torch.randn(words, SIZE, generator=generator)
    bias = torch.randn(words, generator=generator)
    targets = torch.randint(words, (POSITIONS,), generator=generator).to(device)
    exact = [t.double().to(device).requires_grad_() for t in (hidden, weight, bias)]
    losses = F.cross_entropy(exact[0] @ exact[1].t() + exact[2], targets, reduction="none")
    (3 * losses.mean()).backward()  # type: ignore[no-untyped-call]
    own = [t.clone().to(device).requires_grad_() for t in (hidden, weight, bias)]
    mean, found = softmax_loss(own[0].to(dtype), own[1], own[2], targets)
    (3 * mean).backward()  # type: ignore[no-untyped-call]
    assert not found.requires_grad
    assert found.dtype == torch.float32
    torch.testing.assert_close(mean.double(), losses.mean(), rtol=tolerance, atol=0)
    assert (found.double() - losses).norm() < tolerance * losses.norm()
    for mine, theirs in zip(own, exact, strict=True):
        assert mine.grad is not None
        assert theirs.grad is not None
        assert mine.grad.dtype == torch.float32
        assert mine.grad.is_contiguous()  # fused optimisers want it
        assert (mine.grad.double() - theirs.grad).norm() < tolerance * theirs.grad.norm()


def test_a_large_logit_does_not_overflow() -> None:
    hidden = torch.full((1, 2), 100.0)
    weight = torch.tensor([[50.0, 50.0], [0.0, 0.0]], requires_grad=True)
    mean, _ = softmax_loss(hidden, weight, torch.zeros(2), torch.tensor([1]))
    assert mean.item() == pytest.approx(10_000.0)
    mean.backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    assert bool(torch.isfinite(weight.grad).all())
