"""`ElmoLayer`: the module for task models."""

import copy
import io
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_layer import ElmoLayer
from elmokit.embed.load import load
from elmokit.errors import InputError

MakeElmo = Callable[..., Elmo]

BATCH = [["The", "bank", "of", "the", "river"], ["Money"], [], ["She", "sat"]]
LENGTHS = [5, 1, 0, 2]


def layers_of(elmo: Elmo, batch: list[list[str]]) -> tuple[Tensor, Tensor]:
    """Give all layers (L+1, B, T, D) through `embed`, padded with zeros, and the mask."""
    arrays = elmo.embed(batch, layers="all")
    longest = max(map(len, batch))
    layers = torch.zeros(elmo.layer_count, len(batch), longest, elmo.dim)
    mask = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, array in enumerate(arrays):
        layers[:, row, : array.shape[1]] = torch.from_numpy(array)
        mask[row, : array.shape[1]] = True
    return layers, mask


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


def test_as_many_representations_as_mixes_and_a_mask(elmo: Elmo) -> None:
    for mixes in (1, 2, 3):
        output = ElmoLayer(elmo, mixes)(BATCH)
        assert [tuple(r.shape) for r in output.representations] == [(4, 5, 16)] * mixes
        assert output.mask.dtype == torch.bool
        assert output.mask.sum(dim=1).tolist() == LENGTHS
        assert output.mask[:, 0].tolist() == [True, True, False, True]
    assert ElmoLayer(elmo).output_dim == 16


def test_defaults_are_two_mixes_and_half_dropped(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo)
    assert len(layer.mixes) == 2
    assert layer.dropout.p == 0.5
    assert not layer.trainable


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("layer_norm", [True, False])
def test_padding_is_zero(elmo: Elmo, train: bool, layer_norm: bool) -> None:
    output = ElmoLayer(elmo, 2, layer_norm=layer_norm).train(train)(BATCH)
    for representation in output.representations:
        assert not representation[~output.mask].any()
        assert representation[output.mask].any()


@pytest.mark.parametrize("start", ["warm", "zeros"])
@pytest.mark.parametrize("trainable", [True, False])
def test_at_first_it_is_the_average_of_the_layers(
    make_elmo: MakeElmo, start: str, trainable: bool
) -> None:
    elmo = make_elmo(start=start)
    output = ElmoLayer(elmo, 1, 0.0, trainable=trainable)(BATCH)
    for row, vectors in enumerate(elmo.embed(BATCH, layers="average")):
        close(output.representations[0][row, : len(vectors)].detach(), torch.from_numpy(vectors))


def test_character_ids_are_those_of_allennlp(elmo: Elmo) -> None:
    """Each id is one more than in training: 259 begins a word, 260 ends it, 261 fills it up."""
    ids = ElmoLayer(elmo).character_ids([["ab", "<S>"], ["é"]])
    assert ids.shape == (2, 2, 50)
    assert ids.dtype == torch.long
    assert ids[0, 0].tolist() == [259, 98, 99, 260] + [261] * 46
    assert ids[0, 1].tolist() == [259, 257, 260] + [261] * 47
    assert ids[1, 0].tolist() == [259, 0xC3 + 1, 0xA9 + 1, 260] + [261] * 46
    assert not ids[1, 1].any()
    assert ElmoLayer(elmo).character_ids([]).shape == (0, 0, 50)


@pytest.mark.parametrize("trainable", [True, False])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_character_ids_and_token_lists_are_alike(
    elmo: Elmo, trainable: bool, dtype: torch.dtype
) -> None:
    layer = ElmoLayer(elmo, 1, 0.0, trainable=trainable)
    by_words, by_ids = layer(BATCH), layer(layer.character_ids(BATCH).to(dtype))
    assert torch.equal(by_words.mask, by_ids.mask)
    close(by_ids.representations[0], by_words.representations[0])


def test_word_ids_count_from_1(word_elmo: Elmo) -> None:
    assert word_elmo.vocabulary is not None
    layer = ElmoLayer(word_elmo, 1, 0.0)
    batch = [["the", "cat", "sat"], ["on"], []]
    ids = torch.from_numpy(word_elmo.vocabulary.batch_ids(batch))
    without_marks = torch.tensor([[4, 5, 6], [7, 0, 0], [0, 0, 0]])
    assert ids[0].tolist() == [1, 4, 5, 6, 2]
    by_ids, by_words = layer(without_marks), layer(batch)
    assert torch.equal(by_words.mask, by_ids.mask)
    close(by_ids.representations[0], by_words.representations[0])


def test_unknown_words_of_a_word_model(word_elmo: Elmo) -> None:
    layer = ElmoLayer(word_elmo, 1, 0.0)
    close(layer([["zebra"]]).representations[0], layer(torch.tensor([[3]])).representations[0])


def test_a_word_model_has_no_character_ids(word_elmo: Elmo) -> None:
    with pytest.raises(InputError, match="this model reads words, not characters"):
        ElmoLayer(word_elmo).character_ids([["the"]])


def test_a_batch_of_empty_sentences(elmo: Elmo) -> None:
    output = ElmoLayer(elmo)([[], []])
    assert output.representations[0].shape == (2, 0, 16)
    assert output.mask.shape == (2, 0)


def test_ids_padded_further_than_the_longest_sentence_keep_their_shape(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo)
    ids = nn.functional.pad(layer.character_ids([["a", "b"], ["c"]]), (0, 0, 0, 3))
    output = layer(ids)
    assert output.mask.shape == (2, 5)
    assert output.representations[0].shape == (2, 5, 16)


@pytest.mark.parametrize("form", ["layers", "directions"])
@pytest.mark.parametrize("layer_norm", [True, False])
def test_frozen_gradients_reach_the_mixes_and_nothing_else(
    elmo: Elmo, form: Any, layer_norm: bool
) -> None:
    layer = ElmoLayer(elmo, 3, 0.0, form=form, layer_norm=layer_norm)
    trained = {name for name, parameter in layer.named_parameters() if parameter.requires_grad}
    assert trained == {f"mixes.{i}.{part}" for i in range(3) for part in ("weights", "gamma")}
    targets = torch.randn(4, 5, 16, generator=torch.Generator().manual_seed(0))
    for inputs in (BATCH, layer.character_ids(BATCH)):
        layer.zero_grad()
        sum((r * targets).sum() for r in layer(inputs).representations).backward()
        for name, parameter in layer.named_parameters():
            if name in trained:
                assert parameter.grad is not None
                assert bool((parameter.grad != 0).all()), name
            else:
                assert parameter.grad is None, name


@pytest.mark.parametrize("by_ids", [True, False])
def test_trainable_gradients_reach_the_whole_bilm(elmo: Elmo, by_ids: bool) -> None:
    layer = ElmoLayer(elmo, 1, 0.0, trainable=True)
    inputs = layer.character_ids(BATCH) if by_ids else BATCH
    targets = torch.randn(4, 5, 16, generator=torch.Generator().manual_seed(0))
    (layer(inputs).representations[0] * targets).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.requires_grad, name
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_gradients_are_those_of_a_finite_difference(make_elmo: MakeElmo) -> None:
    layer = ElmoLayer(make_elmo(dtype="float64"), 1, 0.0, trainable=True).to(torch.float64)
    weight = layer.bilm.forward_lstm.layers[0].recurrent_weight
    assert isinstance(weight, nn.Parameter)

    def loss() -> Tensor:
        value: Tensor = layer(BATCH).representations[0].square().sum()
        return value

    loss().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    step = 1e-6
    with torch.no_grad():
        weight[3, 2] += step
        above = loss()
        weight[3, 2] -= 2 * step
        below = loss()
    slope = (above - below) / (2 * step)
    assert slope.item() == pytest.approx(weight.grad[3, 2].item(), rel=1e-4)


def test_training_the_layer_does_not_change_the_model(make_elmo: MakeElmo) -> None:
    elmo = make_elmo()
    before = elmo.embed(BATCH)
    layer = ElmoLayer(elmo, 1, 0.0, trainable=True)
    first = layer(BATCH).representations[0].detach()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(BATCH).representations[0].square().sum().backward()
    optimizer.step()
    assert (layer(BATCH).representations[0] - first).abs().max() > 1e-3
    for array, again in zip(before, elmo.embed(BATCH), strict=True):
        np.testing.assert_array_equal(array, again)


def test_frozen_shares_the_memory_of_the_model_and_trainable_does_not(elmo: Elmo) -> None:
    own = {name: parameter.data_ptr() for name, parameter in elmo.bilm.named_parameters()}
    frozen, trainable = ElmoLayer(elmo), ElmoLayer(elmo, trainable=True)
    for name, parameter in frozen.bilm.named_parameters():
        assert parameter.data_ptr() == own[name]
    for name, parameter in trainable.bilm.named_parameters():
        assert parameter.data_ptr() != own[name]


def test_an_optimizer_over_all_parameters_leaves_a_frozen_bilm_alone(make_elmo: MakeElmo) -> None:
    elmo = make_elmo()
    layer = ElmoLayer(elmo, 1, 0.0)
    before = elmo.embed(BATCH)[0]
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, weight_decay=0.5)
    layer(BATCH).representations[0].square().sum().backward()
    optimizer.step()
    np.testing.assert_array_equal(elmo.embed(BATCH)[0], before)


def test_dropout_acts_in_training_alone(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo, 2, 0.5)
    torch.manual_seed(0)
    first, second = layer(BATCH).representations
    dropped = first[0] == 0
    assert 0.2 < dropped.float().mean() < 0.8
    assert not torch.equal(dropped, second[0] == 0), "each mix drops for itself"
    layer.eval()
    whole = layer(BATCH).representations[0]
    assert torch.equal(whole, layer(BATCH).representations[0])
    close(first[0][~dropped], 2 * whole[0][~dropped])


def test_a_frozen_bilm_stays_in_evaluation(elmo: Elmo) -> None:
    frozen, trainable = ElmoLayer(elmo), ElmoLayer(elmo, trainable=True)
    for layer in (frozen, trainable):
        assert layer.train() is layer
        assert layer.training
        assert layer.mixes.training
    assert not frozen.bilm.training
    assert trainable.bilm.training
    model = nn.Sequential(ElmoLayer(elmo))
    model.train()
    assert model.get_submodule("0").training
    assert not model.get_submodule("0.bilm").training


def test_layer_norm_by_hand(elmo: Elmo) -> None:
    layers, mask = layers_of(elmo, BATCH)
    expected = torch.zeros_like(layers[0])
    for values in layers:
        kept = values[mask]
        normal = (values - kept.mean()) / (kept.var(unbiased=False) + 1e-12).sqrt()
        expected += normal / len(layers)
    found = ElmoLayer(elmo, 1, 0.0, layer_norm=True)(BATCH).representations[0].detach()
    torch.testing.assert_close(found, expected * mask[:, :, None], atol=5e-6, rtol=0)


def test_directions_by_hand(elmo: Elmo) -> None:
    layers, _ = layers_of(elmo, BATCH)
    weights = [0.3, -1.0, 2.0, 0.5, 0.0]  # i, f1, f2, b1, b2
    share = torch.softmax(torch.tensor(weights), dim=0)
    ahead = share[0] * layers[0] + share[1] * layers[1] + share[2] * layers[2]
    behind = share[0] * layers[0] + share[3] * layers[1] + share[4] * layers[2]
    layer = ElmoLayer(elmo, 1, 0.0, form="directions", weights=weights)
    found = layer(BATCH).representations[0].detach()
    close(found, torch.cat([ahead[..., :8], behind[..., 8:]], dim=2))


def test_starting_weights_are_those_before_the_softmax(elmo: Elmo) -> None:
    layers, _ = layers_of(elmo, BATCH)
    share = [math.exp(w) / (1 + math.exp(1) + math.exp(2)) for w in (0, 1, 2)]
    expected = share[0] * layers[0] + share[1] * layers[1] + share[2] * layers[2]
    layer = ElmoLayer(elmo, 2, 0.0, weights=[0.0, 1.0, 2.0])
    for representation in layer(BATCH).representations:
        close(representation.detach(), expected)


def test_fixed_weights_have_no_gradients(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo, 1, 0.0, weights=[0.0, 0.0, 50.0], train_mix=False)
    assert not any(parameter.requires_grad for parameter in layer.parameters())
    close(layer(BATCH).representations[0], layers_of(elmo, BATCH)[0][2])


def test_the_penalty_is_over_all_mixes(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo, 2, l2=0.5, weights=[1.0, 2.0, 3.0])
    penalty = layer.penalty()
    assert penalty.item() == pytest.approx(2 * 0.5 * 14)
    penalty.backward()  # type: ignore[no-untyped-call]
    gradient = layer.get_parameter("mixes.0.weights").grad
    assert gradient is not None
    assert gradient.tolist() == pytest.approx([1.0, 2.0, 3.0])
    assert ElmoLayer(elmo).penalty().item() == 0.0


@pytest.mark.parametrize("trainable", [True, False])
def test_a_state_dict_brings_a_layer_back(make_elmo: MakeElmo, trainable: bool) -> None:
    layer = ElmoLayer(make_elmo(), 2, 0.0, trainable=trainable)
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    stored = io.BytesIO()
    torch.save(layer.state_dict(), stored)
    stored.seek(0)
    again = ElmoLayer(make_elmo(), 2, 0.0, trainable=trainable)
    again.load_state_dict(torch.load(stored, weights_only=True))
    for found, expected in zip(
        again(BATCH).representations, layer(BATCH).representations, strict=True
    ):
        close(found.detach(), expected.detach())


def changed_weights(make_elmo: MakeElmo) -> dict[str, Tensor]:
    """Give the weights of a layer whose biLM has been trained further."""
    layer = ElmoLayer(make_elmo(), 1, 0.0, trainable=True)
    return {name: tensor * 1.1 for name, tensor in layer.state_dict().items()}


def test_loading_other_weights_into_a_frozen_layer_forgets_cached_words(
    make_elmo: MakeElmo,
) -> None:
    weights = changed_weights(make_elmo)
    used, fresh = (ElmoLayer(make_elmo(), 1, 0.0) for _ in range(2))
    used(BATCH)
    for layer in (used, fresh):
        layer.load_state_dict(weights)
    close(used(BATCH).representations[0].detach(), fresh(BATCH).representations[0].detach())


def test_loading_other_weights_into_a_frozen_layer_leaves_the_model_alone(
    make_elmo: MakeElmo,
) -> None:
    elmo = make_elmo()
    weights = {name: tensor.clone() for name, tensor in elmo.bilm.state_dict().items()}
    ElmoLayer(elmo, 1, 0.0).load_state_dict(changed_weights(make_elmo))
    for name, tensor in elmo.bilm.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


@pytest.mark.parametrize("inside", [True, False])
def test_a_copy_loads_weights_of_its_own(make_elmo: MakeElmo, inside: bool) -> None:
    """Whether it is loaded itself or as a part of a task model."""
    weights = changed_weights(make_elmo)
    layer = ElmoLayer(make_elmo(), 1, 0.0)
    before = layer(BATCH).representations[0].detach()
    copied = copy.deepcopy(layer)
    if inside:
        nn.Sequential(copied).load_state_dict({f"0.{k}": v for k, v in weights.items()})
    else:
        copied.load_state_dict(weights)
    close(layer(BATCH).representations[0].detach(), before)
    expected = ElmoLayer(make_elmo(), 1, 0.0)
    expected.load_state_dict(weights)
    close(copied(BATCH).representations[0].detach(), expected(BATCH).representations[0].detach())


def test_weights_of_another_shape_are_torch_s_error_and_change_nothing(
    make_elmo: MakeElmo,
) -> None:
    layer = ElmoLayer(make_elmo(), 1, 0.0)
    before = layer(BATCH).representations[0].detach()
    weights = layer.state_dict() | {"mixes.0.weights": torch.zeros(7)}
    with pytest.raises(RuntimeError, match=r"mixes\.0\.weights"):
        layer.load_state_dict(weights)
    close(layer(BATCH).representations[0].detach(), before)


def test_mix_weights_add_up_to_1(elmo: Elmo) -> None:
    for form, count in (("layers", 3), ("directions", 5)):
        weights = ElmoLayer(elmo, 2, form=form).mix_weights()  # type: ignore[arg-type]
        assert [tuple(w.shape) for w in weights] == [(count,)] * 2
        for found in weights:
            assert not found.requires_grad
            torch.testing.assert_close(found, torch.full((count,), 1 / count))


@pytest.mark.parametrize("start", ["warm", "zeros"])
def test_a_trained_layer_becomes_a_model(make_elmo: MakeElmo, start: str, tmp_path: Path) -> None:
    layer = ElmoLayer(make_elmo(start=start), 1, 0.0, trainable=True)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.startswith("bilm."):
                parameter.mul_(1.1)
    elmo = layer.to_elmo()
    assert elmo.start == start
    output = layer(BATCH)
    for row, vectors in enumerate(elmo.embed(BATCH)):
        found = output.representations[0][row, : len(vectors)].detach()
        torch.testing.assert_close(found, torch.from_numpy(vectors), atol=2e-6, rtol=0)
    before = elmo.embed(BATCH)[0]
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(elmo.embed(BATCH)[0], before)
    elmo.save(tmp_path / "tuned")
    again = load(tmp_path / "tuned", device="cpu", start=elmo.start)
    np.testing.assert_allclose(again.embed(BATCH)[0], before, atol=1e-6)


def test_a_small_task_is_learned(make_elmo: MakeElmo) -> None:
    """Which of two words comes first in the sentence: a token's own vector does not tell."""
    torch.manual_seed(0)
    batch = [["red", "house"], ["house", "red"], ["red", "red"], ["house", "house"]]
    labels = torch.tensor([0, 1, 0, 1])  # the first word, to be told from the second token
    layer = ElmoLayer(make_elmo(), 1, 0.0)
    classifier = nn.Linear(layer.output_dim, 2)
    parameters = [*layer.parameters(), *classifier.parameters()]
    optimizer = torch.optim.Adam([p for p in parameters if p.requires_grad], lr=0.3)
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        logits = classifier(layer(batch).representations[0][:, 1])
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_trainable_words_are_computed_anew_after_a_step(elmo: Elmo) -> None:
    layer = ElmoLayer(elmo, 1, 0.0, trainable=True, weights=[50.0, 0.0, 0.0])  # layer 0 alone
    before = layer(BATCH).representations[0].detach()
    with torch.no_grad():
        for parameter in layer.bilm.token_encoder.parameters():
            parameter.mul_(2.0)
    assert (layer(BATCH).representations[0].detach() - before).abs().max() > 0.1


@pytest.mark.parametrize("trainable", [True, False])
@pytest.mark.parametrize(("dtype", "gap"), [(torch.float64, 5e-6), (torch.bfloat16, 0.1)])
def test_to_another_number_type_and_back(
    make_elmo: MakeElmo, trainable: bool, dtype: torch.dtype, gap: float
) -> None:
    elmo = make_elmo()
    layer = ElmoLayer(elmo, 1, 0.0, trainable=trainable)
    expected = layer(BATCH).representations[0].detach()
    for inputs in (BATCH, layer.character_ids(BATCH)):
        found = layer.to(dtype)(inputs).representations[0]
        assert found.dtype == dtype
        found.sum().backward()
        torch.testing.assert_close(found.detach().float(), expected, atol=gap, rtol=0)
    assert {parameter.dtype for parameter in elmo.bilm.parameters()} == {torch.float32}
    assert layer.float()(BATCH).representations[0].dtype == torch.float32


@pytest.mark.parametrize("trainable", [True, False])
@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_work_and_are_independent(make_elmo: MakeElmo, trainable: bool, how: str) -> None:
    layer = ElmoLayer(make_elmo(), 1, 0.0, trainable=trainable)
    expected = layer(BATCH).representations[0].detach()
    copied = copy.deepcopy(layer) if how == "deepcopy" else pickle.loads(pickle.dumps(layer))
    close(copied(BATCH).representations[0].detach(), expected)
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.mul_(1.5)
    assert (copied([["new"]]).representations[0] - layer([["new"]]).representations[0]).any()
    close(layer(BATCH).representations[0].detach(), expected)


def test_no_gradients_under_no_grad(elmo: Elmo) -> None:
    with torch.no_grad():
        output = ElmoLayer(elmo, 1, trainable=True)(BATCH)
    assert not output.representations[0].requires_grad


def test_training_after_validation_in_inference_mode(make_elmo: MakeElmo) -> None:
    layer = ElmoLayer(make_elmo(), 1, 0.0)
    with torch.inference_mode():
        layer([["validation"]])
    layer([["training"]]).representations[0].sum().backward()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mixes": 0}, "mixes: expected a whole number above 0, found 0"),
        ({"mixes": 1.5}, "mixes: expected a whole number above 0, found 1.5"),
        ({"dropout": 1.0}, "dropout: expected 0 or more and less than 1, found 1.0"),
        ({"dropout": -0.1}, "dropout: expected 0 or more and less than 1, found -0.1"),
        ({"dropout": math.nan}, "dropout: expected 0 or more and less than 1, found nan"),
        ({"weights": [1.0, 2.0]}, "weights: expected 3 values, found 2"),
        ({"weights": [1.0] * 3, "form": "directions"}, "weights: expected 5 values, found 3"),
        ({"form": "halves"}, "form: expected 'layers' or 'directions', found 'halves'"),
    ],
)
def test_wrong_arguments(elmo: Elmo, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ElmoLayer(elmo, **arguments)


def test_what_is_no_model() -> None:
    model: Any = "path/of/a/model"
    with pytest.raises(InputError, match=r"model: expected what elmokit\.load gives, found 'path"):
        ElmoLayer(model)


def test_a_carrying_model_is_refused_with_a_way_out(make_elmo: MakeElmo) -> None:
    with pytest.raises(InputError, match=r"start='warm' or 'zeros', found start='carry'"):
        ElmoLayer(make_elmo(start="carry"))


IDS = torch.full((2, 3, 50), 5)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["raw text"], "inputs: expected token lists, found the raw string 'raw text'"),
        ("raw text", "expected a list of sentences, found one string 'raw text'"),
        (None, "expected a list of sentences, found None"),
        ([["a", 3]], "sentence 0, token 1: expected a string, found 3"),
        ([], "inputs: expected at least one sentence, found an empty batch"),
        (IDS[:0], "inputs: expected at least one sentence, found an empty batch"),
        (IDS.float(), r"shape \(B, T, characters\) .*found torch.float32 of shape \(2, 3, 50\)"),
        (IDS[0], r"shape \(B, T, characters\) .*found torch.int64 of shape \(3, 50\)"),
        (IDS[None], r"shape \(B, T, characters\) .*found torch.int64 of shape \(1, 2, 3, 50\)"),
        (IDS + 257, "inputs: expected ids of 0 to 261, found 262 to 262"),
        (IDS - 6, "inputs: "),
        (IDS.numpy(), "sentence 0, token 0: expected a string"),
    ],
)
def test_wrong_inputs(elmo: Elmo, inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ElmoLayer(elmo)(inputs)


def test_padding_in_the_middle_is_refused(elmo: Elmo) -> None:
    ids = IDS.clone()
    ids[1, 1] = 0
    with pytest.raises(InputError, match=r"^inputs: padding \(0\) must stand after the tokens"):
        ElmoLayer(elmo)(ids)


def test_wrong_word_ids(word_elmo: Elmo) -> None:
    layer = ElmoLayer(word_elmo)
    with pytest.raises(InputError, match=r"expected whole numbers of shape \(B, T\) or token"):
        layer(IDS)
    with pytest.raises(InputError, match="inputs: expected ids of 0 to 9, found 1 to 10"):
        layer(torch.tensor([[1, 10]]))
    with pytest.raises(InputError, match="padding"):
        layer(torch.tensor([[0, 1]]))


@pytest.mark.parametrize("width", [0, 2, 49, 51])
def test_rows_of_the_wrong_width_are_refused(elmo: Elmo, width: int) -> None:
    message = rf"^inputs: expected 50 characters a token, found shape \(2, 3, {width}\)$"
    with pytest.raises(InputError, match=message):
        ElmoLayer(elmo)(torch.full((2, 3, width), 5))


def test_truth_values_are_no_ids(elmo: Elmo) -> None:
    with pytest.raises(InputError, match=r"inputs: .*torch\.bool"):
        ElmoLayer(elmo)(IDS.bool())


@pytest.mark.parametrize("dtype", [torch.int16, torch.uint8])
def test_ids_of_small_whole_numbers(elmo: Elmo, dtype: torch.dtype) -> None:
    layer = ElmoLayer(elmo, 1, 0.0)
    close(layer(IDS.to(dtype)).representations[0], layer(IDS).representations[0])
