"""`Elmo.encode` and `Elmo.similarity`, in the manner of sentence-transformers."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError

SENTENCES = ["The bank of the river .", "Money", "She sat on the bank by the sea , and ate ."]


def test_names_and_defaults_are_those_of_sentence_transformers() -> None:
    parameters = inspect.signature(Elmo.encode).parameters
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "self": inspect.Parameter.empty,
        "sentences": inspect.Parameter.empty,
        "batch_size": 32,
        "show_progress_bar": None,
        "output_value": "sentence_embedding",
        "convert_to_numpy": True,
        "convert_to_tensor": False,
        "normalize_embeddings": False,
        "layers": "average",
        "pooling": "mean",
    }


def test_a_single_string_gives_one_vector(elmo: Elmo) -> None:
    vector = elmo.encode(SENTENCES[0])
    assert isinstance(vector, np.ndarray)
    assert (vector.shape, vector.dtype) == ((16,), np.float32)
    np.testing.assert_allclose(vector, elmo.encode(SENTENCES)[0], atol=1e-6)


def test_a_list_gives_a_matrix(elmo: Elmo) -> None:
    matrix = elmo.encode(SENTENCES)
    assert isinstance(matrix, np.ndarray)
    assert (matrix.shape, matrix.dtype) == ((3, 16), np.float32)
    assert elmo.encode([SENTENCES[0]]).shape == (1, 16)
    assert elmo.encode(sentence for sentence in SENTENCES).shape == (3, 16)


@pytest.mark.parametrize("layers", ["average", "top", 0, -2, [1.0, 0.0, 2.0]])
def test_mean_and_max_of_the_token_vectors(elmo: Elmo, layers: Any) -> None:
    tokens = elmo.embed(SENTENCES, layers=layers)
    mean = elmo.encode(SENTENCES, layers=layers)
    np.testing.assert_allclose(mean, [t.mean(axis=0) for t in tokens], atol=1e-6)
    largest = elmo.encode(SENTENCES, layers=layers, pooling="max")
    np.testing.assert_allclose(largest, [t.max(axis=0) for t in tokens], atol=1e-6)


def test_token_lists_are_sentences_too(elmo: Elmo) -> None:
    matrix = elmo.encode([SENTENCES[0].split(), SENTENCES[0]])
    np.testing.assert_allclose(matrix[0], matrix[1], atol=1e-6)


def test_normalised_vectors_have_length_1(elmo: Elmo) -> None:
    matrix = elmo.encode([*SENTENCES, ""], normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), [1, 1, 1, 0], atol=1e-6)
    plain = elmo.encode(SENTENCES)
    np.testing.assert_allclose(
        matrix[:3], plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6
    )


def test_tensors(elmo: Elmo) -> None:
    matrix = elmo.encode(SENTENCES, convert_to_tensor=True)
    assert isinstance(matrix, torch.Tensor)
    assert (matrix.shape, matrix.dtype) == ((3, 16), torch.float32)
    np.testing.assert_allclose(matrix.numpy(), elmo.encode(SENTENCES), atol=1e-6)
    assert elmo.encode(SENTENCES[0], convert_to_tensor=True).shape == (16,)


def test_a_list_of_tensors(elmo: Elmo) -> None:
    rows = elmo.encode(SENTENCES, convert_to_numpy=False)
    assert isinstance(rows, list)
    assert [row.shape for row in rows] == [(16,)] * 3
    assert all(isinstance(row, torch.Tensor) for row in rows)
    alone = elmo.encode(SENTENCES[0], convert_to_numpy=False)
    assert isinstance(alone, torch.Tensor)
    assert alone.shape == (16,)


def test_token_embeddings(elmo: Elmo) -> None:
    rows = elmo.encode(SENTENCES, output_value="token_embeddings")
    assert isinstance(rows, list)
    for row, tokens in zip(rows, elmo.embed(SENTENCES), strict=True):
        assert isinstance(row, torch.Tensor)
        np.testing.assert_allclose(row.numpy(), tokens, atol=1e-6)
    alone = elmo.encode(SENTENCES[0], output_value="token_embeddings")
    assert alone.shape == rows[0].shape


@pytest.mark.parametrize("sentence", ["", "   ", []])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_sentence_without_tokens_is_zero(elmo: Elmo, sentence: Any, pooling: Any) -> None:
    matrix = elmo.encode([SENTENCES[0], sentence, SENTENCES[1]], pooling=pooling)
    assert not matrix[1].any()
    assert matrix[0].any()
    assert matrix[2].any()
    assert not elmo.encode("").any()


def test_no_sentences(elmo: Elmo) -> None:
    assert elmo.encode([]).shape == (0, 16)
    assert elmo.encode([], normalize_embeddings=True).shape == (0, 16)
    assert elmo.encode([], convert_to_tensor=True).shape == (0, 16)
    assert elmo.encode([], convert_to_numpy=False) == []


@pytest.mark.parametrize("batch_size", [1, 2, 7, 1000])
def test_batch_size_changes_nothing(elmo: Elmo, batch_size: int) -> None:
    sentences = SENTENCES * 7
    np.testing.assert_allclose(
        elmo.encode(sentences, batch_size=batch_size), elmo.encode(sentences), atol=1e-6, rtol=0
    )


def test_a_progress_bar_changes_nothing(elmo: Elmo, capsys: pytest.CaptureFixture[str]) -> None:
    found = elmo.encode(SENTENCES, show_progress_bar=True)
    np.testing.assert_array_equal(found, elmo.encode(SENTENCES))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected a whole number above 0, found 0"),
        ({"batch_size": 2.0}, "batch_size: expected a whole number above 0, found 2.0"),
        ({"output_value": "x"}, "output_value: expected 'sentence_embedding' or .* found 'x'"),
        ({"pooling": "cls"}, "pooling: expected 'mean' or 'max', found 'cls'"),
        ({"layers": "all"}, "layers: encode pools one vector per token, found 'all'"),
        ({"layers": 9}, "layers: this model has layers 0 to 2, found 9"),
    ],
)
def test_wrong_arguments(elmo: Elmo, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        elmo.encode(SENTENCES, **arguments)


@pytest.mark.parametrize("sentences", [None, 5, b"bytes", [5], [["a", 5]]])
def test_wrong_sentences(elmo: Elmo, sentences: Any) -> None:
    with pytest.raises(InputError, match=r"^sentence"):
        elmo.encode(sentences)


def test_similarity_is_the_cosine(elmo: Elmo) -> None:
    first, second = elmo.encode(SENTENCES), elmo.encode(SENTENCES[:2])
    found = elmo.similarity(first, second)
    assert isinstance(found, torch.Tensor)
    assert found.shape == (3, 2)
    expected = (
        (first @ second.T)
        / np.linalg.norm(first, axis=1)[:, None]
        / np.linalg.norm(second, axis=1)[None]
    )
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(found[:2].diagonal().numpy(), [1, 1], atol=1e-6)


def test_similarity_takes_what_encode_gives(elmo: Elmo) -> None:
    kinds = [
        elmo.encode(SENTENCES),
        elmo.encode(SENTENCES, convert_to_tensor=True),
        elmo.encode(SENTENCES, convert_to_numpy=False),
        elmo.encode(SENTENCES).tolist(),
    ]
    expected = elmo.similarity(kinds[0], kinds[0])
    for first in kinds:
        for second in kinds:
            torch.testing.assert_close(elmo.similarity(first, second), expected)


def test_similarity_of_single_vectors(elmo: Elmo) -> None:
    assert elmo.similarity([1.0, 0.0], [0.0, 2.0]).tolist() == [[0.0]]
    assert elmo.similarity([3, 0], [[1, 0], [-1, 0]]).tolist() == [[1.0, -1.0]]
    assert elmo.similarity([0.0, 0.0], [1.0, 1.0]).tolist() == [[0.0]]


def test_similarity_needs_vectors_of_one_size(elmo: Elmo) -> None:
    with pytest.raises(InputError, match="similarity: vectors of different sizes, found 2 and 3"):
        elmo.similarity([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [5.0, None, np.zeros((2, 2, 2))])
def test_similarity_needs_vectors(elmo: Elmo, value: Any) -> None:
    shape = np.shape(value) if value is not None else ()
    with pytest.raises(InputError) as caught:
        elmo.similarity(value, [1.0, 2.0])
    assert str(caught.value) == (
        f"similarity: expected vectors of shape (n, dim), found {tuple(shape)}"
    )


@pytest.mark.parametrize("value", ["text", [[1.0, 2.0], [3.0]], [torch.ones(2), torch.ones(3)]])
def test_similarity_of_what_is_no_matrix(elmo: Elmo, value: Any) -> None:
    with pytest.raises(InputError, match="similarity"):
        elmo.similarity(value, [1.0, 2.0])
