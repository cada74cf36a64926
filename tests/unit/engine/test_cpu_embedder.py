"""The CPU's engine against the plain modules."""

import pytest
import torch

from elmokit.engine.cpu import embedder
from elmokit.engine.cpu.embedder import CPUEmbedder
from elmokit.engine.embedder import PlainEmbedder, embedder_for
from elmokit.engine.runner import Runner, map_state
from small_models import CONFIG, CONFIGS, SENTENCES, assert_near, runner_for, some_state


@pytest.fixture(params=CONFIGS)
def runner(request: pytest.FixtureRequest) -> Runner:
    return runner_for(CONFIGS[request.param])


def engine(runner: Runner, dtype: str = "float32") -> CPUEmbedder:
    return CPUEmbedder(runner.bilm, indexer=runner.indexer, marks=runner.marks, dtype=dtype)


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
