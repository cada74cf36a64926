"""What every format is checked against once it has been read."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from elmokit.config import ModelConfig
from elmokit.engine.build import build_bilm
from elmokit.formats.checkpoint import Checkpoint, expected_tensors, start_state_tensors
from unit.formats.small_checkpoints import (
    BASE,
    BILM_CONFIGS,
    MANY_LANGS,
    MANY_LANGS_CONFIGS,
    WORDS,
    assert_same,
    model,
    refuses,
    vocabulary,
)

CONFIGS = BILM_CONFIGS | {f"many-langs, {name}": c for name, c in MANY_LANGS_CONFIGS.items()}
FILE = Path("model.file")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_names_are_those_of_the_module(config: ModelConfig) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in build_bilm(config).state_dict().items()}
    expected = expected_tensors(config)
    softmax = {"softmax.weight", "softmax.bias"} if config.softmax_size else set()
    assert expected.keys() - shapes.keys() == softmax
    assert {name: expected[name] for name in shapes} == shapes


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_whole_model_is_valid(config: ModelConfig) -> None:
    checkpoint = model(config)
    assert checkpoint.validated(FILE) is checkpoint


@pytest.mark.parametrize("config", [BASE, WORDS, MANY_LANGS])
def test_every_tensor_counts(config: ModelConfig) -> None:
    checkpoint = model(config)
    for name, tensor in checkpoint.tensors.items():
        others = {other: t for other, t in checkpoint.tensors.items() if other != name}
        with refuses(FILE, f"tensor missing (key {name!r})"):
            replace(checkpoint, tensors=others).validated(FILE)
        wrong = checkpoint.tensors | {name: tensor[..., None]}
        with refuses(FILE, f"(key {name!r}): expected {tuple(tensor.shape)}, found"):
            replace(checkpoint, tensors=wrong).validated(FILE)
        broken = tensor.clone()
        broken.view(-1)[0] = torch.nan
        with refuses(FILE, f"NaN or infinity (key {name!r})"):
            replace(checkpoint, tensors=checkpoint.tensors | {name: broken}).validated(FILE)


def with_start_state(config: ModelConfig = BASE) -> Checkpoint:
    checkpoint = model(config)
    state = {name: torch.ones(shape) for name, shape in start_state_tensors(config).items()}
    return replace(checkpoint, tensors=checkpoint.tensors | state)


def test_a_start_state_is_whole_or_not_there() -> None:
    checkpoint = with_start_state()
    assert checkpoint.validated(FILE) is checkpoint
    assert_same(checkpoint.without_start_state(), model())
    for name in start_state_tensors(BASE):
        rest = {other: t for other, t in checkpoint.tensors.items() if other != name}
        with refuses(FILE, f"tensor missing (key {name!r})"):
            replace(checkpoint, tensors=rest).validated(FILE)
    extra = checkpoint.tensors | {"start_state.middle.cell": torch.ones(2, 6)}
    with refuses(FILE, "unknown tensor (key 'start_state.middle.cell')"):
        replace(checkpoint, tensors=extra).validated(FILE)


def test_sizes_of_a_start_state() -> None:
    assert start_state_tensors(replace(BASE, layers=3)) == {
        "start_state.forward.cell": (3, 6),
        "start_state.forward.hidden": (3, 4),
        "start_state.backward.cell": (3, 6),
        "start_state.backward.hidden": (3, 4),
    }


def test_word_lists() -> None:
    words = model(WORDS)
    with refuses(FILE, "vocabulary missing", "vocabulary="):
        replace(words, vocabulary=None).validated(FILE)
    with refuses(FILE, "differ in size: expected 7, found 8 words"):
        replace(words, vocabulary=vocabulary(8)).validated(FILE)
    both = model(MANY_LANGS)
    with refuses(FILE, "differ in size: expected 10, found 0 characters"):
        replace(both, characters=None).validated(FILE)
    assert replace(model(replace(BASE, softmax_size=9)), vocabulary=None).validated(FILE)


def test_a_vocabulary_nobody_needs_is_let_be() -> None:
    assert replace(model(BASE), vocabulary=vocabulary(5)).validated(FILE)
