"""The training objective: the fast way of computing against the plain one, and its parts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.engine.build import build_bilm
from elmokit.lm.gradients import GraphedGradients, PlainGradients, row_dropout
from elmokit.lm.objective import Batch, BiLMObjective
from elmokit.lm.word_table import WordTable
from elmokit.nn.softmax import LanguageModelSoftmax, sample_candidates
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary

VOCABULARY, TYPES, ROWS, STEPS = 20, 30, 4, 5
WORDS = ["<S>", "</S>", "<UNK>", *(f"{'long' * (i % 7)}word{i}" for i in range(TYPES - 3))]
CONFIG = ModelConfig(
    characters=CharacterConfig(filters=((1, 4), (3, 6)), highway_layers=1, embedding_dim=5),
    lstm_dim=12,
    projection_dim=8,
    cell_clip=0.3,
    projection_clip=0.2,
)
WORD_CONFIG = replace(
    CONFIG,
    characters=None,
    words=WordConfig(vocabulary_size=VOCABULARY, embedding_dim=8),
    token_projection=False,
)


def make(
    config: ModelConfig, *, fused: bool, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> tuple[BiLMObjective, WordTable]:
    torch.manual_seed(0)
    bilm = build_bilm(config)
    softmax = LanguageModelSoftmax(vocabulary_size=VOCABULARY, dim=config.projection_dim)
    vocabulary = Vocabulary(WORDS[:VOCABULARY])
    indexer = TokenIndexer.for_model(config, vocabulary=vocabulary, characters=None)
    objective = BiLMObjective(bilm=bilm, softmax=softmax, dtype=dtype, fused=fused).to(device)
    return objective, WordTable(WORDS, indexer, bilm.token_encoder, device=device)


def identity(values: Tensor) -> Tensor:
    return values


def make_batch(table: WordTable, *, seed: int, samples: int | None = None) -> Batch:
    generator = np.random.default_rng(seed)
    inputs = generator.integers(0, TYPES, (2, STEPS, ROWS))
    words, index = np.unique(inputs, return_inverse=True)
    groups, place = table.grouped(words)
    batch = Batch(
        tuple(torch.from_numpy(group) for group in groups),
        torch.from_numpy(place[index].reshape(inputs.shape)),
        torch.from_numpy(generator.integers(0, VOCABULARY, inputs.shape)),
        torch.from_numpy((generator.random(inputs.shape) > 0.2).astype(np.float32)),
    )
    if samples is None:
        return batch
    drawing = torch.Generator().manual_seed(seed)
    drawn = [sample_candidates(VOCABULARY, samples, generator=drawing) for _ in range(2)]
    tries = torch.tensor([float(part.tries) for part in drawn], dtype=torch.float64)
    return batch._replace(samples=torch.stack([part.ids for part in drawn]), tries=tries)


@pytest.mark.parametrize("config", [CONFIG, WORD_CONFIG], ids=["characters", "words"])
@pytest.mark.parametrize("samples", [None, 9])
def test_the_fast_way_equals_the_plain_one(config: ModelConfig, samples: int | None) -> None:
    """Losses, carried state and every gradient over two windows, dropout on; float32 rounding."""
    found = []
    for fused in (True, False):
        objective, table = make(config, fused=fused)
        gradients = PlainGradients(objective, table)
        state = objective.zero_state(ROWS)
        for window in range(2):
            dropout = row_dropout(0.3, seed=window, rows=slice(0, ROWS), all_rows=ROWS)
            batch = make_batch(table, seed=window, samples=samples)
            losses, state = gradients(batch, state, dropout, 2.0)
        parameters = dict(objective.named_parameters())
        assert all(p.grad is not None for p in parameters.values())
        found.append([losses, *state, *(p.grad for p in parameters.values())])
    for fast, plain in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, rtol=2e-4, atol=2e-6)


def test_tied_weights_get_both_gradients() -> None:
    objective, table = make(WORD_CONFIG, fused=True)
    words = objective.bilm.token_encoder.words
    assert words is not None
    words.weight = objective.softmax.weight
    assert "bilm.token_encoder.words.weight" in dict(objective.named_parameters())
    assert "softmax.weight" not in dict(objective.named_parameters())
    state = objective.zero_state(ROWS)
    PlainGradients(objective, table)(make_batch(table, seed=1), state, identity, 1.0)
    tied = words.weight.grad
    other, _ = make(WORD_CONFIG, fused=False)
    other_words = other.bilm.token_encoder.words
    assert other_words is not None
    with torch.no_grad():
        other_words.weight.copy_(other.softmax.weight)
    PlainGradients(other, table)(make_batch(table, seed=1), state, identity, 1.0)
    assert other_words.weight.grad is not None
    assert other.softmax.weight.grad is not None
    assert tied is not None
    torch.testing.assert_close(tied, other_words.weight.grad + other.softmax.weight.grad)


def test_bfloat16_products_stay_near() -> None:
    """Eight bits of mantissa: losses to one in a hundred, gradients to a few."""
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        objective, table = make(CONFIG, fused=True, dtype=dtype)
        gradients = PlainGradients(objective, table)
        state = objective.zero_state(ROWS)
        losses, _ = gradients(make_batch(table, seed=3), state, identity, 1.0)
        weight = objective.softmax.weight
        assert weight.grad is not None
        assert weight.grad.dtype == torch.float32
        results.append((losses, weight.grad))
    assert (results[0][0] - results[1][0]).abs().max() < 0.01 * results[0][0].abs().max()
    assert (results[0][1] - results[1][1]).norm() < 0.05 * results[0][1].norm()


def test_row_dropout_does_not_depend_on_how_rows_are_shared_out() -> None:
    values = torch.ones(2, 3, 8, 5)
    whole = row_dropout(0.4, seed=7, rows=slice(0, 8), all_rows=8)
    parts = [row_dropout(0.4, seed=7, rows=slice(i, i + 4), all_rows=8) for i in (0, 4)]
    for _ in range(2):  # successive layers drop differently
        together = whole(values)
        apart = torch.cat(
            [part(values[:, :, i : i + 4]) for i, part in zip((0, 4), parts, strict=True)], dim=2
        )
        assert torch.equal(together, apart)
    assert 0.2 < (together == 0).float().mean() < 0.6
    assert together[together > 0].tolist() == pytest.approx([1 / 0.6] * int((together > 0).sum()))
    other = row_dropout(0.4, seed=8, rows=slice(0, 8), all_rows=8)
    assert not torch.equal(other(values), whole(values))


def test_no_dropout_changes_nothing() -> None:
    values = torch.ones(2, 3, 8, 5)
    assert row_dropout(0.0, seed=7, rows=slice(0, 8), all_rows=8)(values) is values


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("samples", [None, 9])
def test_a_graph_replays_what_plain_calls_do(samples: int | None) -> None:
    """Three windows, each with other words, without dropout; and dropout follows its seed."""
    objective, table = make(CONFIG, fused=True, device="cuda")
    graphed = GraphedGradients(objective, table, dropout=0.0)
    reference, reference_table = make(CONFIG, fused=False, device="cuda")
    plain = PlainGradients(reference, reference_table)
    state = expected_state = objective.zero_state(ROWS)
    for window in range(3):
        batch = make_batch(table, seed=window, samples=samples)
        objective.zero_grad()
        reference.zero_grad()
        losses, state = graphed(batch, state, 0, 1.0)
        expected, expected_state = plain(
            batch.to(torch.device("cuda")), expected_state, identity, 1.0
        )
        torch.testing.assert_close(losses, expected)
        torch.testing.assert_close(state.cell, expected_state.cell)
        for own, theirs in zip(objective.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(own.grad, theirs.grad, rtol=2e-4, atol=2e-6)
    dropping = GraphedGradients(objective, table, dropout=0.3)
    found = []
    for seed in (1, 2, 1):
        objective.zero_grad()
        batch = make_batch(table, seed=0, samples=samples)
        found.append(dropping(batch, objective.zero_state(ROWS), seed, 1.0)[0].tolist())
    assert found[0] == found[2] != found[1]
