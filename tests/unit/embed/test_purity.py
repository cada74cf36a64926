"""With a fixed start state the vectors of a sentence depend on nothing but the sentence."""

import lzma
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.embed.start_state import Start
from elmokit.pretrained.untrained import untrained_checkpoint

TEXT = Path(__file__).resolve().parents[3] / "../shared/data/en_mini.valid.txt.xz"
COUNT = 2_000


def real_sentences() -> list[str]:
    """Real lines where the project's data is there, else words of the same spread of lengths."""
    if TEXT.exists():
        with lzma.open(TEXT, "rt", encoding="utf-8") as stream:
            lines = [line.strip() for line in stream]
        return [line for line in lines if line][:COUNT]
    draw = random.Random(0)
    words = ["".join(draw.choices("etaoinshr", k=draw.randint(1, 12))) for _ in range(5000)]
    lengths = (min(int(draw.expovariate(1 / 23)) + 1, 150) for _ in range(COUNT))
    return [" ".join(draw.choices(words, k=length)) for length in lengths]


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    found = real_sentences()
    assert len(found) == COUNT
    return found


@pytest.mark.parametrize("start", ["warm", "zeros"])
def test_order_and_batches_do_not_matter(sentences: list[str], start: Start) -> None:
    elmo = Elmo(untrained_checkpoint(), device="cpu", start=start)
    reference = elmo.embed(sentences, layers="all")
    order = list(range(COUNT))
    random.Random(1).shuffle(order)
    other = Elmo(untrained_checkpoint(), device="cpu", start=start)  # with no words cached
    shuffled = other.embed([sentences[i] for i in order], layers="all", batch_tokens=700)
    for place, index in enumerate(order):
        assert np.abs(reference[index] - shuffled[place]).max() <= 1e-6


def test_alone_or_among_others(sentences: list[str]) -> None:
    elmo = Elmo(untrained_checkpoint(), device="cpu")
    together = elmo.embed(sentences[:100])
    for sentence, vectors in zip(sentences[:100:5], together[::5], strict=True):
        assert np.abs(elmo.embed([sentence])[0] - vectors).max() <= 1e-6


def test_a_second_call_gives_the_same_bits(sentences: list[str]) -> None:
    elmo = Elmo(untrained_checkpoint(), device="cpu")
    first = elmo.embed(sentences[:200])
    elmo.embed(sentences[200:300])
    for before, after in zip(first, elmo.embed(sentences[:200]), strict=True):
        np.testing.assert_array_equal(before, after)


LARGE = ModelConfig(
    characters=CharacterConfig(filters=((1, 64), (3, 192)), highway_layers=1),
    lstm_dim=512,
    projection_dim=128,
)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_as_large_as_trained_ones(sentences: list[str], threads: int) -> None:
    """Without whole blocks of rows the largest difference here is above 1e-6."""
    torch.set_num_threads(threads)
    try:
        elmo = Elmo(untrained_checkpoint(LARGE, scale=2.0), device="cpu")
        together = elmo.embed(sentences[:40], layers="all")
        elmo.runner.word_vectors.clear()
        alone = elmo.embed(sentences[:40], layers="all", batch_tokens=1)
    finally:
        torch.set_num_threads(1)
    assert max(float(np.abs(vectors).max()) for vectors in together) > 4
    for one, other in zip(together, alone, strict=True):
        assert np.abs(one - other).max() <= 1e-6
