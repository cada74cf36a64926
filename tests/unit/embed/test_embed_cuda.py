"""What people see of a GPU's engine."""

import gc

import numpy as np
import pytest
import torch

from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SENTENCES = [[f"word{(row * 7 + place) % 50}" for place in range(row % 23)] for row in range(600)]


def make(device: str = "cuda", dtype: str = "float32") -> Elmo:
    return Elmo(untrained_checkpoint(), device=device, dtype=dtype)


@pytest.mark.parametrize("layers", ["average", "all", "top"])
@pytest.mark.parametrize("batch_tokens", [None, 64])
def test_equals_the_cpu(layers: str, batch_tokens: int | None) -> None:
    expected = make("cpu").embed(SENTENCES, layers=layers)
    found = make().embed(SENTENCES, layers=layers, batch_tokens=batch_tokens)
    for left, right in zip(found, expected, strict=True):
        assert left.dtype == np.float32
        np.testing.assert_allclose(left, right, atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", ["tf32", "bfloat16", "float64"])
def test_every_precision(dtype: str) -> None:
    expected = make("cpu").embed(SENTENCES)
    for left, right in zip(make(dtype=dtype).embed(SENTENCES), expected, strict=True):
        np.testing.assert_allclose(left, right, atol=0.05, rtol=0)


def test_memory_is_bounded_by_the_budget() -> None:
    def peak(sentences: list[list[str]]) -> int:
        gc.collect()
        elmo = make()
        elmo.embed(sentences[:100], batch_tokens=512)
        torch.cuda.reset_peak_memory_stats()
        elmo.embed(sentences, batch_tokens=512)
        return torch.cuda.max_memory_allocated()

    assert peak(SENTENCES * 20) <= peak(SENTENCES) * 1.05


def test_goes_on_with_less_when_memory_runs_out() -> None:
    elmo = make()
    expected = elmo.embed(SENTENCES, layers="all", batch_tokens=256)
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2**21) / total)
    try:
        with pytest.warns(UserWarning, match="out of memory with .* going on with half as many"):
            found = elmo.embed(SENTENCES, layers="all", batch_tokens=8192)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6, rtol=0)


def test_several_devices_share_the_work_in_order() -> None:
    elmo = make()
    found = elmo.embed(SENTENCES, device=["cuda:0", "cuda:0"], batch_tokens=256)
    assert elmo._workers is not None
    elmo._workers.close()
    for left, right in zip(found, elmo.embed(SENTENCES), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6, rtol=0)
