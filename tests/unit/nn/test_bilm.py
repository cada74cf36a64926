"""Both directions over padded batches, in float64: what differs is a mistake, not rounding."""

import math

import pytest
import torch
from torch import Tensor, nn

from elmokit.nn.bilm import BiLM, BiLMOutput, BiLMState
from elmokit.nn.projected_lstm import LSTMStack, LSTMState, ProjectedLSTM
from elmokit.nn.token_encoder import TokenEncoder

TOLERANCE = 1e-12

SIZE, CELL, DEPTH = 5, 7, 2


def make_stack() -> LSTMStack:
    return LSTMStack(
        [
            ProjectedLSTM(
                input_dim=SIZE,
                hidden_dim=CELL,
                projection_dim=SIZE,
                cell_clip=0.8,
                projection_clip=0.9,
            )
            for _ in range(DEPTH)
        ],
        skip_connections=True,
    )


@pytest.fixture
def bilm() -> BiLM:
    torch.manual_seed(1)
    model = BiLM(
        token_encoder=TokenEncoder(words=nn.Embedding(4, SIZE)),
        forward_lstm=make_stack(),
        backward_lstm=make_stack(),
    ).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model.requires_grad_(False)


def random(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_state(rows: int) -> BiLMState:
    return BiLMState(
        *(
            LSTMState(
                random(DEPTH, rows, CELL, seed=seed).clamp(-0.8, 0.8),
                random(DEPTH, rows, SIZE, seed=seed + 1).clamp(-0.9, 0.9),
            )
            for seed in (20, 30)
        )
    )


def run(
    bilm: BiLM, vectors: Tensor, lengths: list[int], state: BiLMState | None = None
) -> BiLMOutput:
    start = bilm.zero_state(len(vectors)) if state is None else state
    output: BiLMOutput = bilm(vectors, torch.tensor(lengths), start)
    return output


def row_of(state: BiLMState, row: int) -> BiLMState:
    index = slice(row, row + 1)
    return BiLMState(*(LSTMState(part.cell[:, index], part.hidden[:, index]) for part in state))


def tensors_of(state: BiLMState) -> list[Tensor]:
    return [tensor for part in state for tensor in part]


def assert_equal(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


def test_shapes(bilm: BiLM) -> None:
    assert bilm.depth == DEPTH
    assert bilm.output_dim == 2 * SIZE
    output = run(bilm, random(3, 6, SIZE), [6, 2, 4])
    assert [layer.shape for layer in output.layers] == [(3, 6, 2 * SIZE)] * (DEPTH + 1)
    for part in output.state:
        assert part.cell.shape == (DEPTH, 3, CELL)
        assert part.hidden.shape == (DEPTH, 3, SIZE)


def test_directions_are_stacks_over_the_sentence_and_its_mirror(bilm: BiLM) -> None:
    vectors = random(1, 6, SIZE)
    start = random_state(1)
    output = run(bilm, vectors, [6], start)
    ahead, ahead_state = bilm.forward_lstm(vectors, [1] * 6, start.forward)
    behind, behind_state = bilm.backward_lstm(vectors.flip(1), [1] * 6, start.backward)
    assert_equal(output.layers[0], torch.cat([vectors, vectors], dim=2))
    for index in range(DEPTH):
        expected = torch.cat([ahead[index], behind[index].flip(1)], dim=2)
        assert_equal(output.layers[index + 1], expected)
    for found, state in zip(tensors_of(output.state), [*ahead_state, *behind_state], strict=True):
        assert_equal(found, state)


@pytest.mark.parametrize("position", range(6))
def test_forward_sees_only_the_past_and_backward_only_the_future(bilm: BiLM, position: int) -> None:
    vectors = random(2, 6, SIZE)
    changed = vectors.clone()
    changed[:, position] += 1
    before = torch.stack(run(bilm, vectors, [6, 6]).layers)
    after = torch.stack(run(bilm, changed, [6, 6]).layers)
    moved = (before - after).abs()[1:] > 1e-9  # (L, B, T, 2P)
    ahead, behind = moved[..., :SIZE].any(dim=3), moved[..., SIZE:].any(dim=3)  # (L, B, T)
    assert not ahead[:, :, :position].any()
    assert ahead[:, :, position:].all()
    assert behind[:, :, : position + 1].all()
    assert not behind[:, :, position + 1 :].any()


@pytest.mark.parametrize("lengths", [[6, 2, 4, 6, 1], [1, 2, 3, 4, 6], [6, 5, 4, 3, 2]])
def test_rows_of_unlike_length_equal_rows_alone(bilm: BiLM, lengths: list[int]) -> None:
    vectors = random(5, 6, SIZE)
    start = random_state(5)
    output = run(bilm, vectors, lengths, start)
    for row, length in enumerate(lengths):
        alone = run(bilm, vectors[row : row + 1, :length], [length], row_of(start, row))
        for layer, alone_layer in zip(output.layers, alone.layers, strict=True):
            assert_equal(layer[row, :length], alone_layer[0])
        # At the row's true end (its start, backwards), not where the batch ends.
        for found, expected in zip(
            tensors_of(row_of(output.state, row)), tensors_of(alone.state), strict=True
        ):
            assert_equal(found, expected)


def test_two_sentences_in_a_row_carry_the_state(bilm: BiLM) -> None:
    """Forward, a second call goes on as if both sentences were one; backward, one by one."""
    vectors = random(1, 6, SIZE)
    first = run(bilm, vectors[:, :4], [4])
    second = run(bilm, vectors[:, 4:], [2], first.state)
    whole = run(bilm, vectors, [6])
    for part, layer in zip(second.layers[1:], whole.layers[1:], strict=True):
        assert_equal(part[:, :, :SIZE], layer[:, 4:, :SIZE])
    reordered = torch.cat([vectors[:, 4:], vectors[:, :4]], dim=1)
    mirrored = run(bilm, reordered, [6])
    for part, layer in zip(second.layers[1:], mirrored.layers[1:], strict=True):
        assert_equal(part[:, :, SIZE:], layer[:, :2, SIZE:])


@pytest.mark.parametrize("filler", [0.0, 1e6])
def test_padding_content_does_not_matter(bilm: BiLM, filler: float) -> None:
    lengths = [2, 6, 3]
    vectors = random(3, 6, SIZE)
    expected = run(bilm, vectors, lengths)
    filled = vectors.clone()
    for row, length in enumerate(lengths):
        filled[row, length:] = filler
    output = run(bilm, filled, lengths)
    for found, layer in zip(output.layers, expected.layers, strict=True):
        assert_equal(found, layer)
    for tensor, other in zip(tensors_of(output.state), tensors_of(expected.state), strict=True):
        assert_equal(tensor, other)


@pytest.mark.parametrize("filler", [math.nan, math.inf])
def test_padding_is_never_read(bilm: BiLM, filler: float) -> None:
    vectors = random(2, 4, SIZE)
    vectors[1, 2:] = filler
    output = run(bilm, vectors, [4, 2])
    for layer in output.layers[1:]:
        assert layer.isfinite().all()
        assert (layer[1, 2:] == 0).all()
    for tensor in tensors_of(output.state):
        assert tensor.isfinite().all()


@pytest.mark.parametrize("filler", [math.nan, math.inf])
def test_padding_is_never_read_by_layer_0(bilm: BiLM, filler: float) -> None:
    vectors = random(2, 4, SIZE)
    vectors[1, 2:] = filler
    output = run(bilm, vectors, [4, 2])
    assert (output.layers[0][1, 2:] == 0).all()


def test_padding_is_zero_in_every_layer(bilm: BiLM) -> None:
    lengths = [2, 6, 3]
    output = run(bilm, random(3, 6, SIZE), lengths, random_state(3))
    for layer in output.layers:
        for row, length in enumerate(lengths):
            assert (layer[row, length:] == 0).all()
            assert (layer[row, :length] != 0).any(dim=1).all()


def test_more_padding_changes_nothing(bilm: BiLM) -> None:
    vectors = random(2, 4, SIZE)
    narrow = run(bilm, vectors, [4, 3])
    wide = run(bilm, torch.cat([vectors, random(2, 3, SIZE, seed=8)], dim=1), [4, 3])
    for layer, other in zip(narrow.layers, wide.layers, strict=True):
        assert_equal(other[:, :4], layer)
        assert (other[:, 4:] == 0).all()
    for tensor, same in zip(tensors_of(narrow.state), tensors_of(wide.state), strict=True):
        assert_equal(same, tensor)


def test_row_without_tokens_keeps_its_state(bilm: BiLM) -> None:
    start = random_state(3)
    output = run(bilm, random(3, 4, SIZE), [2, 0, 4], start)
    for layer in output.layers:
        assert (layer[1] == 0).all()
    for found, before in zip(tensors_of(output.state), tensors_of(start), strict=True):
        assert_equal(found[:, 1], before[:, 1])


def test_state_passed_in_is_left_alone(bilm: BiLM) -> None:
    start = random_state(2)
    copies = [tensor.clone() for tensor in tensors_of(start)]
    run(bilm, random(2, 4, SIZE), [4, 3], start)
    for tensor, copy in zip(tensors_of(start), copies, strict=True):
        assert (tensor == copy).all()


def test_gradients_reach_every_parameter_and_no_padding(bilm: BiLM) -> None:
    bilm.requires_grad_(True)
    lengths = [2, 5, 3]
    ids = torch.randint(0, 4, (15,), generator=torch.Generator().manual_seed(1))
    vectors = bilm.token_encoder(None, ids).reshape(3, 5, SIZE)
    vectors.retain_grad()
    output = run(bilm, vectors, lengths)
    sum(layer.square().sum() for layer in output.layers).backward()  # type: ignore[union-attr]
    for name, parameter in bilm.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
    assert vectors.grad is not None
    for row, length in enumerate(lengths):
        assert (vectors.grad[row, length:] == 0).all()
        assert (vectors.grad[row, :length].abs().amax(dim=1) > 0).all()
