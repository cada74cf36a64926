"""The grouped token encoder of training against `nn.TokenEncoder`."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.engine.build import build_bilm
from elmokit.engine.word_encoder import group_widths, pooled_convolution
from elmokit.lm.word_table import WordTable
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary

WORDS = [
    "<S>", "</S>", "<UNK>", "a", "I", "bank", "banks", "river", "12345678", "123456789",
    "fourteen-marks", "fifteen-letters", "Donaudampfschiff", "x" * 30, "y" * 47, "z" * 48,
    "q" * 49, "ß" * 24, "ß" * 25, "은행", "강가에서", "😀",
]  # fmt: skip

CONFIG = ModelConfig(
    characters=CharacterConfig(
        filters=((1, 3), (2, 4), (5, 6), (7, 8)), highway_layers=1, embedding_dim=5
    ),
    lstm_dim=8,
    projection_dim=6,
)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("words_too", [False, True])
def test_equals_the_plain_encoder(activation: Literal["relu", "tanh"], words_too: bool) -> None:
    """Vectors and gradients, words of every length; sums in another order differ by 1e-6."""
    assert CONFIG.characters is not None
    config = replace(CONFIG, characters=replace(CONFIG.characters, activation=activation))
    if words_too:
        config = replace(config, words=WordConfig(vocabulary_size=len(WORDS), embedding_dim=3))
    torch.manual_seed(0)
    encoder = build_bilm(config).token_encoder
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    vocabulary = Vocabulary(WORDS) if words_too else None
    indexer = TokenIndexer.for_model(config, vocabulary=vocabulary, characters=None)
    table = WordTable(WORDS, indexer, encoder)
    groups, place = table.grouped(np.arange(len(WORDS)))
    assert [len(group) > 0 for group in groups] == [True] * 3
    tensors = [torch.from_numpy(group) for group in groups]
    weighting = torch.randn(len(WORDS), 6, generator=torch.Generator().manual_seed(1))
    found = []
    for vectors in (table.encode(encoder, tensors), encoder(*table.rows(tensors))):
        encoder.zero_grad()
        (vectors * weighting).sum().backward()
        found.append(
            [vectors, *(p.grad.clone() for p in encoder.parameters() if p.grad is not None)]
        )
    assert len(found[0]) == len(found[1]) == 1 + len(list(encoder.parameters()))
    for fused, plain in zip(*found, strict=True):
        torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-5)
    # And the words are where `place` says they are.
    ids = indexer.ids(WORDS)
    characters = None if ids.characters is None else torch.from_numpy(ids.characters).long()
    straight = encoder(characters, None if ids.words is None else torch.from_numpy(ids.words))
    torch.testing.assert_close(found[0][0][torch.from_numpy(place)], straight)


def test_a_row_too_short_for_groups_is_one_group() -> None:
    encoder = build_bilm(CONFIG).token_encoder
    assert group_widths(encoder, 15) == [(15, 15)]
    assert group_widths(encoder, 50) == [(10, 17), (16, 23), (50, 50)]


def test_an_empty_group_is_passed_over() -> None:
    encoder = build_bilm(CONFIG).token_encoder
    indexer = TokenIndexer.for_model(CONFIG, vocabulary=None, characters=None)
    table = WordTable(WORDS, indexer, encoder)
    groups, _ = table.grouped(np.array([3, 4]))
    assert [len(group) for group in groups] == [2, 0, 0]
    vectors = table.encode(encoder, [torch.from_numpy(group) for group in groups])
    assert vectors.shape == (2, 6)


def test_the_maximum_passes_its_gradient_to_one_window() -> None:
    """By hand: two windows, the second is larger for the only filter."""
    embedded = torch.tensor([[[1.0], [2.0], [4.0]]], requires_grad=True)
    weight = torch.tensor([[[1.0, 10.0]]], requires_grad=True)
    pooled = pooled_convolution(embedded, weight, torch.tensor([0.5]))
    assert pooled.tolist() == [[42.5]]
    pooled.sum().backward()  # type: ignore[no-untyped-call]
    assert embedded.grad is not None
    assert weight.grad is not None
    assert embedded.grad.flatten().tolist() == [0.0, 1.0, 10.0]
    assert weight.grad.flatten().tolist() == [2.0, 4.0]
