"""Vectors of tokens in every combination of their parts.

B texts, T tokens of the longest one, L layers, E size of a layer's vector
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.inputs.static_vectors import StaticVectors
from elmokit.tasks.inputs.text_batch import TextBatch, text_batch
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.predictor import load
from elmokit.tasks.settings import InputSettings
from elmokit.tasks.task import TextVectors
from task_runs import CPU, TINY, run_small, small_network, tiny_elmo

TEXTS = [["The", "cat", "sat"], ["cat"], ["dog", "the"]]
STATIC = StaticVectors(("the", "cat"), torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]]).half())
LEARNT = ("sat",)
LAYERS, SIZE = 3, 6
FILTERS = ((2, 3), (3, 2))


def made(static: bool = True, **settings: Any) -> TokenVectors:
    torch.manual_seed(0)
    elmo = settings.pop("elmo", True)
    chosen = InputSettings(**{"elmo_dropout": 0.0} | settings)
    return TokenVectors(
        chosen,
        static=STATIC.vectors if static else None,
        learnt_words=len(LEARNT) + (0 if static else len(STATIC.words)),
        elmo_layers=LAYERS if elmo else 0,
        elmo_dim=SIZE if elmo else 0,
    )


def stored_layers() -> Tensor:
    """Give (B, T, L, E) in float16, as a store does; padding is not zero in it."""
    return torch.randn(3, 3, LAYERS, SIZE, generator=torch.Generator().manual_seed(1)).half()


def given(
    vectors: TokenVectors, layers: Callable[[TextBatch], Tensor] | None = None
) -> TextVectors:
    lexicon = Lexicon((*STATIC.words, *LEARNT))
    batch = text_batch(TEXTS, lexicon, None)
    source = layers or (lambda _: stored_layers())
    found: TextVectors = vectors(batch, lexicon.forms(CPU), source)
    return found


@pytest.mark.parametrize("elmo_at", ["input", "output", "both", None])
@pytest.mark.parametrize("filters", [(), FILTERS])
@pytest.mark.parametrize("kind", ["file", "learnt", "none"])
def test_sizes_of_every_combination(
    kind: str, filters: tuple[tuple[int, int], ...], elmo_at: str | None
) -> None:
    settings: dict[str, Any] = {"vectors": kind != "none", "character_filters": filters,
                                "vector_dim": 9, "elmo": elmo_at is not None}  # fmt: skip
    if elmo_at is not None:
        settings["elmo_at"] = elmo_at
    size = {"file": 4, "learnt": 9, "none": 0}[kind] + (5 if filters else 0)
    size += SIZE if elmo_at in ("input", "both") else 0
    if not size:
        with pytest.raises(InputError, match="static vectors, characters or ELMo at the input"):
            made(kind == "file", **settings)
        return
    vectors = made(kind == "file", **settings)
    at_output = elmo_at in ("output", "both")
    assert vectors.input_dim == size
    assert vectors.output_dim == (SIZE if at_output else 0)
    assert vectors.has_elmo == (elmo_at is not None)
    found = given(vectors)
    assert found.inputs.shape == (3, 3, size)
    assert (found.at_output is not None) == at_output
    if found.at_output is not None:
        assert found.at_output.shape == (3, 3, SIZE)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_padding_is_zero_and_masked(layer_norm: bool) -> None:
    vectors = made(character_filters=FILTERS, elmo_at="both", elmo_layer_norm=layer_norm)
    found = given(vectors)
    assert found.mask.tolist() == [[True, True, True], [True, False, False], [True, True, False]]
    assert found.at_output is not None
    for part in (found.inputs, found.at_output):
        assert (part[~found.mask] == 0).all()
        assert (part[found.mask] != 0).any(dim=1).all()


def test_words_are_numbered_without_regard_to_case() -> None:
    words = given(made()).words
    assert words[0, 0] == words[2, 1]  # The, the
    assert words[0, 1] == words[1, 0]  # cat, cat
    assert len({int(n) for n in (words[0, 0], words[0, 1], words[0, 2], words[2, 0])}) == 4
    assert words[1].tolist()[1:] == [-1, -1]


def test_static_vectors_are_those_of_the_file_the_learnt_ones_and_one_for_the_rest() -> None:
    vectors = made(elmo=False)
    assert vectors.static is not None
    unknown, sat = vectors.static.learnt.detach()
    found = given(vectors).inputs
    assert found[0].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], sat.tolist()]
    assert found[2, :2].tolist() == [unknown.tolist(), [1, 2, 3, 4]]


def test_learnt_vectors_begin_as_large_as_the_given_ones() -> None:
    rows = 7 * torch.randn(500, 20, generator=torch.Generator().manual_seed(0))
    vectors = TokenVectors(InputSettings(), static=rows.half(), learnt_words=500)
    assert vectors.static is not None
    assert float(vectors.static.learnt.detach().std()) == pytest.approx(7, rel=0.1)


def test_frozen_vectors_stay_in_float16_and_trained_ones_get_gradients() -> None:
    frozen, trained = made(elmo=False), made(elmo=False, train_vectors=True)
    for vectors in (frozen, trained):
        given(vectors).inputs.square().sum().backward()  # type: ignore[no-untyped-call]
    assert frozen.static is not None
    assert trained.static is not None
    assert {name for name, _ in frozen.named_parameters()} == {"static.learnt"}
    assert frozen.static.given.dtype == torch.float16
    assert {n for n, _ in trained.named_parameters()} == {"static.learnt", "static.given"}
    assert trained.static.given.dtype == torch.float32
    # Twice what was squared, for each time that a word occurs.
    assert trained.static.given.grad is not None
    assert trained.static.given.grad.tolist() == [[4, 8, 12, 16], [20, 24, 28, 32]]
    for static in (frozen.static, trained.static):
        assert static.learnt.grad is not None
        assert torch.all(static.learnt.grad != 0)


def test_words_of_no_text_get_no_gradient() -> None:
    vectors = TokenVectors(
        InputSettings(train_vectors=True), static=torch.ones(3, 2).half(), learnt_words=2
    )
    lexicon = Lexicon(["a", "b", "c", "d", "e"])
    found = vectors(text_batch([["b", "d"]], lexicon, None), lexicon.forms(CPU), None)
    found.inputs.sum().backward()
    assert vectors.static is not None
    assert vectors.static.given.grad is not None
    assert vectors.static.learnt.grad is not None
    assert vectors.static.given.grad.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert vectors.static.learnt.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_equal_words_are_spelled_alike_and_others_are_not() -> None:
    vectors = made(vectors=False, character_filters=FILTERS, elmo=False)
    found = given(vectors).inputs
    assert torch.equal(found[0, 1], found[1, 0])
    assert not torch.equal(found[0, 0], found[2, 1])  # The, the
    characters = [name for name, _ in vectors.named_parameters()]
    assert all(name.startswith("characters.") for name in characters)


def test_the_mix_is_that_of_the_layers() -> None:
    found = given(made(vectors=False, elmo_at="both"))
    assert found.at_output is not None
    expected = stored_layers().float().mean(dim=2) * found.mask[:, :, None]
    torch.testing.assert_close(found.inputs, expected)
    torch.testing.assert_close(found.at_output, expected)


@pytest.mark.parametrize("chosen", [(0,), (2,), (0, 2), (2, 1), (-1,), (0, -2)])
def test_some_of_the_layers(chosen: tuple[int, ...]) -> None:
    vectors = made(vectors=False, elmo_layers=chosen)
    found = given(vectors)
    expected = stored_layers().float()[:, :, list(chosen)].mean(dim=2) * found.mask[:, :, None]
    torch.testing.assert_close(found.inputs, expected)
    [weights] = vectors.mix_weights().values()
    assert len(weights) == len(chosen) + 1


def test_fixed_weights_are_used_and_not_trained() -> None:
    vectors = made(elmo_weights=(0.0, 2.0, -1.0), elmo_at="both")
    assert {name for name, p in vectors.named_parameters() if p.requires_grad} == {"static.learnt"}
    expected = torch.softmax(torch.tensor([0.0, 2.0, -1.0]), dim=0)
    for place in ("input", "output"):
        found = vectors.mix_weights()[place]
        assert found[:-1] == pytest.approx(expected.tolist())
        assert found[-1] == 1.0
    mixed = (stored_layers().float() * expected[:, None]).sum(dim=2)
    torch.testing.assert_close(given(vectors).inputs[0, :, 4:], mixed[0])


def test_directions_have_weights_of_their_own() -> None:
    vectors = made(vectors=False, elmo_form="directions", elmo_weights=(0.0, 9.0, 0.0, 0.0, 9.0))
    share = torch.softmax(torch.tensor([0.0, 9.0, 0.0, 0.0, 9.0]), dim=0)
    layers = stored_layers().float()
    ahead, behind = layers[..., :3], layers[..., 3:]  # (B, T, L, E/2)
    expected = torch.cat(
        [
            (ahead * share[[0, 1, 2], None]).sum(dim=2),
            (behind * share[[0, 3, 4], None]).sum(dim=2),
        ],
        dim=2,
    )
    torch.testing.assert_close(given(vectors).inputs[0], expected[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elmo_layers": (3,)}, "elmo_layers: this model has layers 0 to 2, found 3"),
        ({"elmo_layers": (-4,)}, "elmo_layers: this model has layers 0 to 2, found -4"),
        ({"elmo_form": "directions", "elmo_layers": (1, 2)}, "'directions' needs layer 0 first"),
        ({"elmo_weights": (1.0, 2.0)}, "weights: expected 3 values, found 2"),
        ({"elmo_weights": (1.0, 2.0), "elmo_layers": (1,)}, "weights: expected 1 values, found 2"),
        ({"elmo_form": "directions", "elmo_weights": (1.0,) * 3}, "weights: expected 5 values"),
    ],
)
def test_mixes_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**settings)


def test_settings_of_elmo_mean_nothing_without_one() -> None:
    assert made(elmo=False, elmo_layers=(7,)).mix_weights() == {}


def test_the_penalty_is_on_the_weights_of_all_mixes() -> None:
    vectors = made(elmo_at="both", elmo_l2=0.5)
    assert vectors.input_mix is not None
    assert vectors.output_mix is not None
    assert vectors.penalty() == 0
    with torch.no_grad():
        vectors.input_mix.weights.copy_(torch.tensor([1.0, 2.0, 0.0]))
        vectors.output_mix.weights.copy_(torch.tensor([0.0, 0.0, 3.0]))
    assert float(vectors.penalty().detach()) == pytest.approx(0.5 * (1 + 4 + 9))


def test_nothing_is_dropped_outside_training() -> None:
    settings: dict[str, Any] = {"dropout": 0.5, "word_dropout": 0.5, "elmo_dropout": 0.5,
                                "character_filters": FILTERS, "elmo_at": "both"}  # fmt: skip
    dropping, plain = made(**settings).eval(), made(character_filters=FILTERS, elmo_at="both")
    for own, other in zip(given(dropping)[:2], given(plain)[:2], strict=True):
        assert own is not None
        assert other is not None
        assert torch.equal(own, other)


def test_word_dropout_takes_static_vectors_for_that_of_unknown_words() -> None:
    vectors = made(word_dropout=0.4, character_filters=FILTERS)
    whole, unknown = made(character_filters=FILTERS), 0
    assert vectors.static is not None
    for seed in range(40):
        torch.manual_seed(seed)
        found, exact = given(vectors), given(whole)
        assert torch.equal(found.inputs[..., 4:], exact.inputs[..., 4:])  # characters and ELMo
        words = found.inputs[found.mask][:, :4]
        is_unknown = (words == vectors.static.learnt[0]).all(dim=1)
        assert torch.equal(words[~is_unknown], exact.inputs[found.mask][~is_unknown, :4])
        unknown += int(is_unknown.sum())
    # Of 6 tokens 1 is unknown always, 5 with probability 0.4: 40 * 3 = 120 in the mean.
    assert 90 < unknown < 150


def test_dropout_is_on_static_vectors_and_characters_and_elmo_dropout_on_mixes() -> None:
    torch.manual_seed(3)
    found = given(made(dropout=0.5, character_filters=FILTERS, elmo_at="both"))
    assert found.at_output is not None
    own = found.inputs[found.mask]
    exact = given(made(character_filters=FILTERS, elmo_at="both"))
    assert exact.at_output is not None
    words = exact.inputs[found.mask]
    dropped = own[:, :9] == 0
    assert 0.2 < float(dropped.float().mean()) < 0.8
    torch.testing.assert_close(own[:, :9][~dropped], 2 * words[:, :9][~dropped])
    assert torch.equal(own[:, 9:], words[:, 9:])
    assert torch.equal(found.at_output, exact.at_output)

    mixed = given(made(elmo_dropout=0.5, character_filters=FILTERS, elmo_at="both"))
    assert mixed.at_output is not None
    own = mixed.inputs[found.mask]
    assert torch.equal(own[:, :9], words[:, :9])
    for part, whole in (
        (own[:, 9:], words[:, 9:]),
        (mixed.at_output[found.mask], exact.at_output[found.mask]),
    ):
        dropped = part == 0
        assert 0.2 < float(dropped.float().mean()) < 0.8
        torch.testing.assert_close(part[~dropped], 2 * whole[~dropped])


def test_a_trained_bilm_gives_what_a_frozen_one_does(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    frozen = small_network("ner", tmp_path, elmo=elmo)
    trained = small_network("ner", tmp_path, "train_elmo=true", elmo=elmo)
    losses = []
    for small in (frozen, trained):
        small.network.eval()
        batch = small.network.batch(small.task, small.examples, small.labels)
        losses.append(small.network.losses(batch))
    torch.testing.assert_close(losses[0], losses[1], rtol=2e-3, atol=0)  # float16 in the store


def test_a_bilm_is_trained_with_the_task_and_saved_with_it(tmp_path: Path) -> None:
    changes = ["train_elmo=true", "epochs=2", "elmo_dropout=0", "elmo_at=both"]
    outcome = run_small("ner", tmp_path, *changes, elmo=TINY)
    assert outcome.model is not None
    predictor = load(outcome.model, device="cpu")
    layer = predictor.trained.network.elmo_layer
    assert layer is not None
    before = tiny_elmo().bilm.state_dict()
    after = layer.bilm.state_dict()
    assert before.keys() == after.keys()
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert {name.split(".")[0] for name in changed} == {name.split(".")[0] for name in before}
    # The model that the folder names is the one that training began with.
    assert predictor.trained.elmo is not None
    assert all(
        torch.equal(before[name], tensor)
        for name, tensor in predictor.trained.elmo.bilm.state_dict().items()
    )
    assert predictor.evaluate(tmp_path / "data.jsonl") == outcome.result["figures"]["data.jsonl"]
    again = load(outcome.model, device="cpu")
    asked = ["Ada went to New Rome today", "Bob saw Oslo"]
    assert predictor.predict(asked) == again.predict(asked)
    assert again.mix_weights() == outcome.result["mix_weights"]
