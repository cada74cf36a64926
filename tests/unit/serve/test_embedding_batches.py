"""Whatever shares a batch, a request gets what `Elmo.embed` gives it alone.

LSTM layers sum in another order in batches of other sizes, which changes the last digit: 1e-6.
"""

from typing import Any

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.serve.embedding import Embedding, Wanted
from elmokit.serve.served_model import ServedModel
from elmokit.serve.work import Part
from unit.serve.small_service import CONFIG, small_elmo

TOLERANCE = 1e-6
SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat", "."],
    [],
    ["größe"],
    ["a", "dog"] * 20,
    ["字", "."],
]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return small_elmo()


@pytest.fixture(scope="module")
def model(elmo: Elmo) -> ServedModel:
    return ServedModel("small", elmo)


def computed(embedding: Embedding, parts: list[Part]) -> list[Any]:
    return embedding.begin(parts)()


@pytest.mark.parametrize("layers", ["average", "top", "all", 0, 1, (0.5, -1.0, 2.0)])
def test_a_request_alone_gets_the_vectors_of_embed(
    elmo: Elmo, model: ServedModel, layers: Any
) -> None:
    (found,) = computed(model.embedding, [Part(Wanted(model.layer_choice(layers)), SENTENCES)])
    expected = np.concatenate(elmo.embed(SENTENCES, layers=layers), axis=-2)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_requests_that_want_different_layers_share_a_batch(elmo: Elmo, model: ServedModel) -> None:
    wanted: list[Any] = ["average", "all", "top", "average", (1.0, 0.0, 0.0), "all"]
    parts = [
        Part(Wanted(model.layer_choice(layers)), SENTENCES[number % 3 :])
        for number, layers in enumerate(wanted)
    ]
    parts.insert(2, Part(Wanted(model.layer_choice("average"), pooled=True), SENTENCES))
    found = computed(model.embedding, parts)
    np.testing.assert_allclose(
        found.pop(2),
        elmo.encode([" ".join(sentence) for sentence in SENTENCES]),
        rtol=0,
        atol=TOLERANCE,
    )
    for number, (layers, vectors) in enumerate(zip(wanted, found, strict=True)):
        expected = elmo.embed(SENTENCES[number % 3 :], layers=layers)
        np.testing.assert_allclose(
            vectors, np.concatenate(expected, axis=-2), rtol=0, atol=TOLERANCE
        )


def test_sentences_without_tokens_need_no_model(model: ServedModel) -> None:
    every, pooled = computed(
        model.embedding,
        [
            Part(Wanted(model.layer_choice("all")), [[], []]),
            Part(Wanted(model.layer_choice("average"), pooled=True), [[]]),
        ],
    )
    assert every.shape == (3, 0, 16)
    assert pooled.shape == (1, 16)
    assert not pooled.any()


def test_answers_keep_no_others_in_memory(model: ServedModel) -> None:
    found = computed(
        model.embedding,
        [Part(Wanted(model.layer_choice("top")), [sentence]) for sentence in SENTENCES if sentence],
    )
    assert all(vectors.base is None for vectors in found)


def test_a_model_that_begins_with_zeros_does_so_here() -> None:
    elmo = Elmo(untrained_checkpoint(CONFIG, scale=2.0), device="cpu", start="zeros")
    model = ServedModel("zeros", elmo)
    (found,) = computed(model.embedding, [Part(Wanted(model.layer_choice("top")), SENTENCES)])
    expected = np.concatenate(elmo.embed(SENTENCES, layers="top"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    warm = small_elmo().embed(SENTENCES, layers="top")
    assert abs(found - np.concatenate(warm)).max() > 1e-3


def test_the_same_choice_is_the_same_object_and_few_are_kept(model: ServedModel) -> None:
    assert model.layer_choice("top") is model.layer_choice("top")
    for number in range(1000):
        model.layer_choice((float(number), 0.0, 0.0))
    assert len(model._choices) <= 256
