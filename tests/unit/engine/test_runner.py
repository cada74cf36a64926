"""The runner and the building of modules: sentences to layers, tensors to modules."""

import numpy as np
import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.engine.build import bilm_from_tensors, build_bilm
from elmokit.engine.runner import Runner, expand_state, map_state
from elmokit.formats.checkpoint import expected_tensors
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.token_indexer import TokenIndexer

CONFIG = ModelConfig(
    characters=CharacterConfig(filters=((1, 4), (2, 8)), embedding_dim=4, highway_layers=1),
    lstm_dim=12,
    projection_dim=6,
)


@pytest.fixture
def runner() -> Runner:
    checkpoint = untrained_checkpoint(CONFIG)
    return Runner(
        bilm_from_tensors(CONFIG, checkpoint.tensors),
        indexer=TokenIndexer.for_model(CONFIG, vocabulary=None, characters=None),
        marks=CONFIG.marks,
    )


def test_outputs_include_the_marks_and_are_zero_at_padding(runner: Runner) -> None:
    output = runner.run([["a", "b", "c"], ["d"], []], runner.zero_state(3))
    assert [tuple(layer.shape) for layer in output.layers] == [(3, 5, 12)] * 3
    for layer in output.layers:
        assert layer[0].all(dim=1).tolist() == [True] * 5
        for row, length in ((1, 3), (2, 2)):
            assert layer[row, :length].any(dim=1).all()
            assert not layer[row, length:].any()


def test_nothing_asks_for_gradients(runner: Runner) -> None:
    with torch.enable_grad():
        output = runner.run([["a"]], runner.zero_state(1))
    assert not any(layer.requires_grad for layer in output.layers)
    assert not any(parameter.requires_grad for parameter in runner.bilm.parameters())
    assert not runner.bilm.training


def test_a_row_does_not_depend_on_its_neighbours(runner: Runner) -> None:
    state = expand_state(runner.warm_state(), 3)
    together = runner.run([["a"], ["b", "c", "d"], ["e", "f"]], state)
    for row, sentence in enumerate((["a"], ["b", "c", "d"], ["e", "f"])):
        alone = runner.run([sentence], runner.warm_state())
        length = len(sentence) + 2
        for whole, part in zip(together.layers, alone.layers, strict=True):
            torch.testing.assert_close(whole[row, :length], part[0], atol=1e-6, rtol=1e-6)
        for left, one in zip(together.state, alone.state, strict=True):
            torch.testing.assert_close(left.cell[:, row], one.cell[:, 0])
            torch.testing.assert_close(left.hidden[:, row], one.hidden[:, 0])


def test_running_does_not_change_the_state_it_is_given(runner: Runner) -> None:
    state = runner.warm_state()
    before = map_state(state, torch.Tensor.clone)
    runner.run([["a", "b"]], state)
    for kept, found in zip(before, state, strict=True):
        assert torch.equal(kept.cell, found.cell)
        assert torch.equal(kept.hidden, found.hidden)


def test_the_warm_state_is_fixed_and_settled(runner: Runner) -> None:
    first, again = runner.warm_state(), runner.warm_state()
    assert torch.equal(first.forward.cell, again.forward.cell)
    assert first.forward.cell.shape == (2, 1, 12)
    assert first.backward.hidden.shape == (2, 1, 6)
    assert first.forward.cell.any()


def test_a_state_is_expanded_without_copies(runner: Runner) -> None:
    state = runner.warm_state()
    wide = expand_state(state, 1000)
    assert wide.forward.cell.shape == (2, 1000, 12)
    assert wide.forward.cell.data_ptr() == state.forward.cell.data_ptr()


def test_a_literal_mark_among_the_tokens_is_that_mark(runner: Runner) -> None:
    output = runner.run([["<S>", "</S>"]], runner.zero_state(1))
    first = output.layers[0][0].numpy()
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[2], first[3])


def test_a_built_bilm_has_the_tensors_of_the_format() -> None:
    bilm = build_bilm(CONFIG)
    shapes = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()}
    assert shapes == expected_tensors(CONFIG)
    assert all(parameter.requires_grad for parameter in bilm.parameters())


def test_a_loaded_bilm_holds_the_very_tensors() -> None:
    tensors = untrained_checkpoint(CONFIG).tensors
    bilm = bilm_from_tensors(CONFIG, tensors)
    for name, parameter in bilm.named_parameters():
        assert parameter.data_ptr() == tensors[name].data_ptr()


def test_building_makes_no_second_copy_and_draws_no_numbers() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    bilm_from_tensors(CONFIG, untrained_checkpoint(CONFIG).tensors)
    assert torch.equal(torch.random.get_rng_state(), before)
