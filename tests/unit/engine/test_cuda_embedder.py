"""The GPU's engine against the plain modules.

Where there is no GPU, a few sentences go through the same kernels in Triton's interpreter.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from elmokit.engine.cuda.plan import MOST_ROWS, WIDTHS
from elmokit.engine.embedder import PlainEmbedder, embedder_for
from elmokit.engine.runner import Runner
from small_models import CONFIG, CONFIGS, SENTENCES, assert_near, runner_for, some_state

if TYPE_CHECKING:
    from elmokit.engine.cuda.embedder import CUDAEmbedder

TESTS = Path(__file__).parents[2]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
INTERPRETED = """
import sys
import torch
from elmokit.engine.cuda.embedder import CUDAEmbedder
from elmokit.engine.embedder import PlainEmbedder
from small_models import CONFIGS, runner_for, some_state

SENTENCES = [["the", "cat", "sat", "on", "it"], ["sat"]]
runner = runner_for(CONFIGS[sys.argv[1]])
embed = CUDAEmbedder(runner.bilm, indexer=runner.indexer, marks=runner.marks)
state = some_state(runner, 2)
layers, after = embed.carry(SENTENCES, state)
expected, expected_after = PlainEmbedder(runner).carry(SENTENCES, state)
for found, wanted in zip(layers, expected, strict=True):
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
for found, wanted in zip(after, expected_after, strict=True):
    torch.testing.assert_close(found, wanted, atol=5e-5, rtol=0)
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
@pytest.mark.parametrize("name", ["as published", "no projection"])
def test_kernels_equal_the_plain_modules_without_a_gpu(name: str) -> None:
    places = os.pathsep.join([str(TESTS), *sys.path])
    subprocess.run(
        [sys.executable, "-c", INTERPRETED, name],
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": places},
        check=True,
        timeout=300,
    )


@pytest.fixture(params=CONFIGS)
def runner(request: pytest.FixtureRequest) -> Runner:
    return runner_for(CONFIGS[request.param], "cuda")


def engine(runner: Runner, dtype: str = "float32") -> "CUDAEmbedder":
    from elmokit.engine.cuda.embedder import CUDAEmbedder

    found = embedder_for(runner, dtype=dtype)
    assert isinstance(found, CUDAEmbedder)
    return found


@needs_gpu
@pytest.mark.parametrize("start", ["zeros", "warm", "other"])
def test_equals_the_plain_modules(runner: Runner, start: str) -> None:
    """To 1e-5, as promised for float32; sums are made in another order."""
    state = some_state(runner, 1)
    if start != "other":
        state = runner.warm_state() if start == "warm" else runner.zero_state(1)
    assert_near(engine(runner)(SENTENCES, state), PlainEmbedder(runner)(SENTENCES, state))


@needs_gpu
@pytest.mark.parametrize("dtype", ["float32", "tf32", "bfloat16"])
def test_a_sentence_does_not_depend_on_the_others(dtype: str) -> None:
    """Nor on what was embedded before: narrow batches, wide ones, and narrow ones again."""
    runner = runner_for(CONFIG, "cuda")
    embed, state = engine(runner, dtype), some_state(runner, 1)
    alone = []
    for sentence in SENTENCES:
        embed.word_vectors.clear()  # so that each word is computed with other words
        alone.append(embed([sentence], state))
    for copies in (1, 40, 200, 1):
        embed.word_vectors.clear()
        layers = embed(SENTENCES * copies, state)
        expected = [torch.cat(parts) for parts in zip(*alone, strict=True)]
        tokens = len(expected[0])
        first = [layer[:tokens] for layer in layers]
        last = [layer[-tokens:] for layer in layers]
        # Narrow numbers may be rounded to a neighbour where a sum ends in another last digit.
        atol = 1e-6 if dtype == "float32" else 0.02
        assert_near(first, expected, atol=atol)
        assert_near(last, expected, atol=atol)


@needs_gpu
def test_carries_the_state_of_each_row(runner: Runner) -> None:
    embed, plain = engine(runner), PlainEmbedder(runner)
    state = expected_state = some_state(runner, len(SENTENCES))
    for sentences in (SENTENCES, SENTENCES[::-1]):
        layers, state = embed.carry(sentences, state)
        expected, expected_state = plain.carry(sentences, expected_state)
        # Both were measured within 6e-6 of float64, and may err in opposite directions.
        assert_near(layers, expected, atol=1.2e-5)
        for found, wanted in zip(state, expected_state, strict=True):
            # Cells are several times larger than outputs, and so are their errors.
            assert_near(list(found), list(wanted), atol=5e-5)


@needs_gpu
def test_carries_more_rows_than_a_graph_has() -> None:
    runner = runner_for(CONFIG, "cuda")
    sentences = (SENTENCES * MOST_ROWS)[: MOST_ROWS + 3]
    state = some_state(runner, len(sentences))
    layers, after = engine(runner).carry(sentences, state)
    expected, expected_after = PlainEmbedder(runner).carry(sentences, state)
    assert_near(layers, expected)
    for found, wanted in zip(after, expected_after, strict=True):
        assert_near(list(found), list(wanted), atol=5e-5)


@needs_gpu
def test_carries_through_sentences_without_words(runner: Runner) -> None:
    state = some_state(runner, 2)
    layers, after = engine(runner).carry([[], ["cat"]], state)
    expected, expected_after = PlainEmbedder(runner).carry([[], ["cat"]], state)
    assert_near(layers, expected)
    assert_near(list(after.backward), list(expected_after.backward), atol=5e-5)


@needs_gpu
@pytest.mark.parametrize(("dtype", "least"), [("tf32", 0.9999), ("bfloat16", 0.9995)])
def test_narrow_types_stay_near(runner: Runner, dtype: str, least: float) -> None:
    """By the mean cosine of a layer, as promised for real text."""
    state = runner.zero_state(1)
    expected = PlainEmbedder(runner)(SENTENCES, state)
    for found, layer in zip(engine(runner, dtype)(SENTENCES, state), expected, strict=True):
        assert found.dtype == torch.float32
        assert float(torch.cosine_similarity(found, layer, dim=1).mean()) > least


@needs_gpu
def test_few_graphs_are_captured_whatever_the_lengths() -> None:
    runner = runner_for(CONFIG, "cuda")
    embed, state = engine(runner), runner.zero_state(1)
    for rows in range(1, 100, 7):
        embed([["cat"] * (1 + row % 13) for row in range(rows)], state)
    assert embed.captured <= len(WIDTHS)


@needs_gpu
def test_a_change_of_the_callers_mode_changes_nothing() -> None:
    runner = runner_for(CONFIG, "cuda")
    state = runner.zero_state(1)
    expected = PlainEmbedder(runner)(SENTENCES, state)
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        layers = engine(runner)(SENTENCES, state)
    assert not any(layer.is_inference() or layer.requires_grad for layer in layers)
    assert_near(layers, expected)
