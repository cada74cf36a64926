"""The CPU's engine against the plain modules."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.cpu import embedder
from elmokit.engine.cpu.embedder import CPUEmbedder
from elmokit.engine.embedder import PlainEmbedder, embedder_for
from elmokit.engine.runner import Runner, map_state
from elmokit.nn.bilm import BiLMState
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary

CHARACTERS = CharacterConfig(
    filters=((1, 4), (2, 8), (3, 8), (7, 16)), embedding_dim=4, highway_layers=2
)
CONFIG = ModelConfig(characters=CHARACTERS, lstm_dim=24, projection_dim=10)
WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sat")
CONFIGS = {
    "as published": CONFIG,
    "no projection": replace(CONFIG, lstm_projection=False, projection_dim=24),
    "no clipping": replace(CONFIG, cell_clip=None, projection_clip=None),
    "clipped hard": replace(CONFIG, cell_clip=0.05, projection_clip=0.01),
    "no skip": replace(CONFIG, skip_connections=False),
    "one layer": replace(CONFIG, layers=1),
    "three layers": replace(CONFIG, layers=3),
    "tanh": replace(CONFIG, characters=replace(CHARACTERS, activation="tanh", highway_layers=0)),
    "words": replace(
        CONFIG,
        characters=None,
        words=WordConfig(vocabulary_size=len(WORDS), embedding_dim=10),
        token_projection=False,
    ),
}
SENTENCES = [
    ["the", "cat", "sat"],
    ["on"],
    ["a", "mat", "of", "straw", ",", "which", "was", "not", "its", "own", "."],
    ["Donaudampfschifffahrtsgesellschaft" * 3, "고양이", "", "e" * 43, "e" * 44, "e" * 48],
    ["sat", "sat"],
]


def runner_for(config: ModelConfig) -> Runner:
    checkpoint = untrained_checkpoint(config)
    # Untrained weights hardly move a cell; these reach the bent parts of every function.
    louder = {
        name: tensor * 1.5 if "lstm" in name else tensor
        for name, tensor in checkpoint.tensors.items()
    }
    return Runner(
        bilm_from_tensors(config, louder),
        indexer=TokenIndexer.for_model(
            config, vocabulary=Vocabulary(WORDS, marks=config.marks), characters=None
        ),
        marks=config.marks,
    )


@pytest.fixture(params=CONFIGS)
def runner(request: pytest.FixtureRequest) -> Runner:
    return runner_for(CONFIGS[request.param])


def engine(runner: Runner, dtype: str = "float32") -> CPUEmbedder:
    return CPUEmbedder(runner.bilm, indexer=runner.indexer, marks=runner.marks, dtype=dtype)


def some_state(runner: Runner, rows: int) -> BiLMState:
    generator = torch.Generator().manual_seed(0)
    return map_state(
        runner.zero_state(rows), lambda zeros: torch.randn(zeros.shape, generator=generator) / 10
    )


def assert_near(found: list[Tensor], expected: list[Tensor], atol: float = 1e-5) -> None:
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        torch.testing.assert_close(left, right, atol=atol, rtol=0)


@pytest.mark.parametrize("start", ["zeros", "warm", "other"])
def test_equals_the_plain_modules(runner: Runner, start: str) -> None:
    """To 1e-5, as promised for float32; sums are made in another order."""
    state = some_state(runner, 1)
    if start != "other":
        state = runner.warm_state() if start == "warm" else runner.zero_state(1)
    assert_near(engine(runner)(SENTENCES, state), PlainEmbedder(runner)(SENTENCES, state))


@pytest.mark.parametrize("is_small", [True, False])
def test_a_sentence_does_not_depend_on_the_others(
    runner: Runner, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone it may go through both directions side by side, or one after the other."""
    monkeypatch.setattr(embedder, "SMALL_STEP", 2**30 if is_small else 0)
    embed, state = engine(runner), some_state(runner, 1)
    together = embed(SENTENCES, state)
    end = 0
    for sentence in SENTENCES:
        start, end = end, end + len(sentence)
        alone = engine(runner)([sentence], state)
        assert_near(alone, [layer[start:end] for layer in together], atol=1e-6)


def test_carries_the_state_of_each_row(runner: Runner) -> None:
    embed, plain = engine(runner), PlainEmbedder(runner)
    state = expected_state = some_state(runner, len(SENTENCES))
    for sentences in (SENTENCES, SENTENCES[::-1]):
        layers, state = embed.carry(sentences, state)
        expected, expected_state = plain.carry(sentences, expected_state)
        assert_near(layers, expected)
        for found, wanted in zip(state, expected_state, strict=True):
            # Cells are several times larger than outputs, and so are their errors.
            assert_near(list(found), list(wanted), atol=5e-5)


@pytest.mark.parametrize("is_small", [True, False])
def test_carries_the_state_of_a_lone_row(
    runner: Runner, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "SMALL_STEP", 2**30 if is_small else 0)
    state = some_state(runner, 1)
    for sentence in SENTENCES[:3]:
        layers, after = engine(runner).carry([sentence], state)
        expected, expected_after = PlainEmbedder(runner).carry([sentence], state)
        assert_near(layers, expected)
        for found, wanted in zip(after, expected_after, strict=True):
            assert_near(list(found), list(wanted), atol=5e-5)


def test_carries_through_sentences_without_words(runner: Runner) -> None:
    state = some_state(runner, 2)
    layers, after = engine(runner).carry([[], ["cat"]], state)
    expected, expected_after = PlainEmbedder(runner).carry([[], ["cat"]], state)
    assert_near(layers, expected)
    assert_near(list(after.backward), list(expected_after.backward))


def test_another_start_is_not_the_last_one() -> None:
    runner = runner_for(CONFIG)
    embed, plain = engine(runner), PlainEmbedder(runner)
    for state in (runner.zero_state(1), some_state(runner, 1), runner.zero_state(1)):
        assert_near(embed(SENTENCES, state), plain(SENTENCES, state))


@pytest.mark.parametrize(("dtype", "least"), [("bfloat16", 0.9995), ("int8", 0.998)])
def test_narrow_types_stay_near(runner: Runner, dtype: str, least: float) -> None:
    """By the mean cosine of a layer, as promised for real text."""
    state = runner.zero_state(1)
    expected = PlainEmbedder(runner)(SENTENCES, state)
    for found, layer in zip(engine(runner, dtype)(SENTENCES, state), expected, strict=True):
        assert found.dtype == torch.float32
        assert float(torch.cosine_similarity(found, layer, dim=1).mean()) > least


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_narrow_types_do_not_depend_on_the_batch_either(dtype: str) -> None:
    runner = runner_for(CONFIG)
    embed, state = engine(runner, dtype), runner.zero_state(1)
    together = embed(SENTENCES, state)
    alone = embed(SENTENCES[:1], state)
    assert_near(alone, [layer[:3] for layer in together], atol=1e-6)


def test_results_outlive_an_inference_mode() -> None:
    runner = runner_for(CONFIG)
    embed = engine(runner)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        layers = embed(SENTENCES, runner.zero_state(1))
    assert not any(layer.is_inference() or layer.requires_grad for layer in layers)
    assert_near(layers, PlainEmbedder(runner)(SENTENCES, runner.zero_state(1)))


def test_no_weights_are_changed() -> None:
    runner = runner_for(CONFIG)
    before = {name: tensor.clone() for name, tensor in runner.bilm.state_dict().items()}
    state = some_state(runner, 1)
    kept = map_state(state, torch.clone)
    for dtype in ("float32", "bfloat16", "int8"):
        engine(runner, dtype)(SENTENCES, state)
    assert all(torch.equal(before[name], now) for name, now in runner.bilm.state_dict().items())
    assert torch.equal(kept.forward.cell, state.forward.cell)


def test_which_engine_is_chosen() -> None:
    runner = runner_for(CONFIG)
    assert isinstance(embedder_for(runner, dtype="float32"), CPUEmbedder)
    assert isinstance(embedder_for(runner, dtype="int8"), CPUEmbedder)
    runner.bilm.double()
    assert isinstance(embedder_for(runner, dtype="float64"), PlainEmbedder)
