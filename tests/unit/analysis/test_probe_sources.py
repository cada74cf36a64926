"""Where the probes' vectors come from: the layers of a biLM, and a transformer's pieces."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import elmokit
from elmokit.analysis.probes.transformer_words import TransformerWords, load_transformer
from elmokit.analysis.probes.vector_source import ElmoLayers
from elmokit.errors import InputError, MissingExtraError

SENTENCES = [["The", "grand jury", "met"], ["은행에", "갔다"]]


@pytest.fixture(scope="module")
def elmo() -> elmokit.Elmo:
    with pytest.warns(UserWarning, match="untrained"):
        return elmokit.load("tiny-untrained")


def test_layers_are_those_of_embed(elmo: elmokit.Elmo) -> None:
    source = ElmoLayers(elmo)
    assert source.layers == (0, 1, 2)
    first, second = source.vectors(SENTENCES)
    words, korean = elmo.embed([["The", "grand", "jury", "met"], SENTENCES[1]], layers="all")
    np.testing.assert_array_equal(second, korean)
    assert first.shape == (3, 3, source.dim)
    np.testing.assert_array_equal(first[:, [0, 2]], words[:, [0, 3]])
    # one addition and one division in float32
    np.testing.assert_allclose(first[:, 1], words[:, 1:3].mean(axis=1), atol=1e-6)


def test_some_layers_alone(elmo: elmokit.Elmo) -> None:
    source = ElmoLayers(elmo, layers=[2, 0, 2])
    assert source.layers == (2, 0)
    (found, _), (whole, _) = source.vectors(SENTENCES), ElmoLayers(elmo).vectors(SENTENCES)
    np.testing.assert_array_equal(found, whole[[2, 0]])
    with pytest.raises(InputError, match="layer: this model has layers 0 to 2, found 3"):
        ElmoLayers(elmo, layers=[3])


class Encoding(dict[str, Tensor]):
    """What a fast tokenizer gives: tensors, and the word of each piece."""

    def __init__(self, words: list[list[int | None]], ids: Tensor) -> None:
        super().__init__(input_ids=ids)
        self._words = words

    def word_ids(self, row: int) -> list[int | None]:
        return self._words[row]


class FakeTransformer:
    """Pieces of two characters between two marks; a piece's vector is its characters' codes."""

    max_seq_length = 8
    device = torch.device("cpu")

    def tokenizer(self, sentences: list[list[str]], **options: Any) -> Encoding:
        assert options["is_split_into_words"] and options["padding"] and options["truncation"]
        rows, owners = [], []
        for words in sentences:
            pieces = [
                (word[start : start + 2].ljust(2), number)
                for number, word in enumerate(words)
                for start in range(0, len(word), 2)
            ][: options["max_length"] - 2]
            rows.append([[1, 1], *([ord(c) for c in piece] for piece, _ in pieces), [2, 2]])
            owners.append([None, *(number for _, number in pieces), None])
        longest = max(map(len, rows))
        padded = [row + [[0, 0]] * (longest - len(row)) for row in rows]
        marked = [row + [None] * (longest - len(row)) for row in owners]
        return Encoding(marked, torch.tensor(padded))

    def __call__(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"token_embeddings": features["input_ids"].half()}


def codes(text: str) -> list[float]:
    return [float(ord(character)) for character in text]


def test_a_word_is_the_mean_of_its_pieces() -> None:
    source = TransformerWords(FakeTransformer(), name="fake")
    assert (source.layers, source.dim) == ((None,), 2)
    long, term = source.vectors([["abcd", "e"], ["xy zw", "q"]])
    assert long.shape == (1, 2, 2)
    assert long[0].tolist() == [[(97 + 99) / 2, (98 + 100) / 2], codes("e ")]
    assert term[0].tolist() == [
        [(ord("x") + ord("z")) / 2, (ord("y") + ord("w")) / 2],
        codes("q "),
    ]


def test_words_past_the_longest_input_get_zeros() -> None:
    source = TransformerWords(FakeTransformer(), name="fake")
    (found,) = source.vectors([["ab"] * 7])
    assert found[0].tolist() == [codes("ab")] * 6 + [[0, 0]]


def test_more_sentences_than_a_batch() -> None:
    source = TransformerWords(FakeTransformer(), name="fake")
    sentences = [[chr(97 + number % 26) * 2] * (1 + number % 3) for number in range(70)]
    found = [vectors[0].tolist() for vectors in source.vectors(sentences)]
    assert found == [[codes(word) for word in words] for words in sentences]


def installed(make: Callable[..., Any]) -> ModuleType:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = make  # type: ignore[attr-defined]
    return module


def test_a_transformer_is_loaded_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = SimpleNamespace()

    def make(name: str, *, device: str) -> FakeTransformer:
        asked.name, asked.device = name, device
        return FakeTransformer()

    monkeypatch.setitem(sys.modules, "sentence_transformers", installed(make))
    source = load_transformer("models/my-transformer", device="cpu")
    assert (asked.name, asked.device) == ("models/my-transformer", "cpu")
    assert source.name == "my-transformer"
    assert load_transformer("models/my-transformer", name="mine").name == "mine"


def test_a_transformer_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, *, device: str) -> None:
        raise OSError("no such model")

    monkeypatch.setitem(sys.modules, "sentence_transformers", installed(fail))
    with pytest.raises(InputError, match=r"transformer: cannot load 'none' \(no such model\)"):
        load_transformer("none")


def test_without_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"sentence-transformers.*elmokit\[compare\]"):
        load_transformer("any")
