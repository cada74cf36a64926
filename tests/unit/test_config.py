"""Configs: the paper's defaults, JSON both ways, and every wrong value refused by name."""

import dataclasses
import json
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from elmokit.config import (
    PAPER_FILTERS,
    CharacterConfig,
    Marks,
    ModelConfig,
    WordConfig,
)
from elmokit.errors import InputError

SMALL = ModelConfig(lstm_dim=6, projection_dim=4)
WORDS = WordConfig(vocabulary_size=7, embedding_dim=4)


def refused(values: Any, *pieces: str, kind: type[Any] = ModelConfig) -> None:
    with pytest.raises(InputError) as caught:
        kind.from_dict(values)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    for piece in pieces:
        assert piece in message, message


def test_the_defaults_are_the_papers() -> None:
    config = ModelConfig()
    assert config.characters is not None
    assert (config.layers, config.lstm_dim, config.projection_dim) == (2, 4096, 512)
    assert (config.cell_clip, config.projection_clip, config.forget_bias) == (3.0, 3.0, 1.0)
    assert config.skip_connections
    assert config.characters.filters == PAPER_FILTERS
    assert config.characters.output_dim == config.input_dim == 2048
    assert (config.characters.max_characters, config.characters.embedding_dim) == (50, 16)
    assert config.characters.highway_layers == 2
    assert config.marks == Marks(begin="<S>", end="</S>", unknown="<UNK>")


def test_frozen_and_keyword_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SMALL.layers = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        ModelConfig(None)  # type: ignore[call-arg]
    assert hash(SMALL) == hash(replace(SMALL))


def test_input_dim() -> None:
    assert replace(SMALL, words=WORDS).input_dim == 2048 + 4
    assert replace(SMALL, characters=None, words=WORDS).input_dim == 4


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(),
        SMALL,
        replace(SMALL, words=WORDS, cell_clip=None, softmax_size=3),
        replace(SMALL, characters=None, words=replace(WORDS, longest_word=5)),
        replace(SMALL, marks=Marks(begin="字", end="", unknown="\ud800")),
    ],
)
def test_json_both_ways(config: ModelConfig) -> None:
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_lists_and_whole_numbers_become_what_they_should_be() -> None:
    config = ModelConfig.from_dict({"cell_clip": 3, "characters": {"filters": [[1, 2], (3, 4)]}})
    assert isinstance(config.cell_clip, float)
    assert config.characters == CharacterConfig(filters=((1, 2), (3, 4)))


@pytest.mark.parametrize("values", [None, [], "text", 5, True])
def test_what_is_no_object(values: Any) -> None:
    refused(values, f"config: expected an object, found {values!r}")
    refused({"marks": values}, f"config.marks: expected an object, found {values!r}")
    if values is not None:
        refused({"words": values}, f"config.words: expected an object, found {values!r}")


def test_unknown_keys() -> None:
    refused({"layer": 2}, "config: unknown key 'layer'; known keys are cell_clip, characters")
    refused({"characters": {"filter": 2}}, "config.characters: unknown key 'filter'", "filters")
    refused({"b": 1, "a": 2}, "unknown key 'a'")
    refused({"": 1}, "unknown key ''")


@pytest.mark.parametrize("name", ["layers", "lstm_dim", "projection_dim", "softmax_size"])
@pytest.mark.parametrize("value", ["2", 2.0, True, [2], {}, float("nan")])
def test_whole_numbers(name: str, value: Any) -> None:
    refused({name: value}, f"config.{name}: expected int, found {value!r}")


@pytest.mark.parametrize("value", [0, -1, 1001, 10**30])
def test_number_of_layers(value: int) -> None:
    refused({"layers": value}, f"layers: expected 1 to 1000, found {value}")


@pytest.mark.parametrize("name", ["lstm_dim", "projection_dim", "softmax_size"])
@pytest.mark.parametrize("value", [0, -1, -(10**30)])
def test_positive_numbers(name: str, value: int) -> None:
    refused({name: value}, f"{name}: expected a number above 0, found {value}")


@pytest.mark.parametrize("name", ["cell_clip", "projection_clip"])
@pytest.mark.parametrize("value", [0, -1, 0.0, -0.5, float("nan"), -float("inf")])
def test_clips(name: str, value: float) -> None:
    refused({name: value}, f"{name}: expected a number above 0, found {float(value)!r}")


@pytest.mark.parametrize("name", ["cell_clip", "projection_clip", "forget_bias"])
@pytest.mark.parametrize("value", ["3", True, [3.0]])
def test_floats(name: str, value: Any) -> None:
    refused({name: value}, f"config.{name}: expected float, found {value!r}")


@pytest.mark.parametrize("name", ["token_projection", "lstm_projection", "skip_connections"])
@pytest.mark.parametrize("value", ["true", 1, 0, None])
def test_booleans(name: str, value: Any) -> None:
    refused({name: value}, f"config.{name}: expected bool, found {value!r}")


@pytest.mark.parametrize("value", [None, 5, ["words"]])
def test_strings(value: Any) -> None:
    refused({"tokeniser": value}, f"config.tokeniser: expected str, found {value!r}")
    refused({"marks": {"begin": value}}, f"config.marks.begin: expected str, found {value!r}")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"alphabet": "utf-16"}, "alphabet: expected one of ['bytes', 'dictionary'], found 'utf-1"),
        ({"activation": ["relu"]}, "activation: expected one of ['relu', 'tanh'], found ['relu']"),
        ({"alphabet_size": 0}, "alphabet_size: expected a number above 0, found 0"),
        ({"alphabet_size": 260}, "alphabet_size: a byte alphabet has at least 261 rows, found 260"),
        ({"embedding_dim": 0}, "embedding_dim: expected a number above 0, found 0"),
        ({"max_characters": 2}, "max_characters: expected 3 to 10000, found 2"),
        ({"highway_layers": -1}, "highway_layers: expected 0 to 1000, found -1"),
        ({"filters": []}, "filters: expected at least one (width, number) pair, found none"),
        ({"filters": [[0, 1]]}, "numbers above 0, found [0, 1]"),
        ({"filters": [[1, 0]]}, "numbers above 0, found [1, 0]"),
        ({"filters": [[51, 1]]}, "widths of 1 to 50 (max_characters)"),
        ({"filters": [[1]]}, "filters: expected 2 values, found [1]"),
        ({"filters": [[1, 2, 3]]}, "filters: expected 2 values, found [1, 2, 3]"),
        ({"filters": [5]}, "filters: expected a list, found 5"),
        ({"filters": [["1", 2]]}, "filters: expected int, found '1'"),
        ({"filters": {"1": 2}}, "filters: expected a list, found {'1': 2}"),
        ({"filters": "12"}, "filters: expected a list, found '12'"),
    ],
)
def test_characters(values: dict[str, Any], problem: str) -> None:
    refused(values, problem, kind=CharacterConfig)
    refused({"characters": values}, problem)


def test_a_dictionary_may_be_short() -> None:
    assert CharacterConfig(alphabet="dictionary", alphabet_size=6).alphabet_size == 6


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "vocabulary_size"),
        ({"vocabulary_size": 5}, "embedding_dim"),
        ({"vocabulary_size": 0, "embedding_dim": 1}, "vocabulary_size: expected a number above 0"),
        ({"vocabulary_size": 1, "embedding_dim": -1}, "embedding_dim: expected a number above 0"),
        ({"vocabulary_size": 1, "embedding_dim": 1, "longest_word": 0}, "longest_word: expected"),
        (
            {"vocabulary_size": None, "embedding_dim": 1},
            "vocabulary_size: expected int, found None",
        ),
    ],
)
def test_words(values: dict[str, Any], problem: str) -> None:
    refused(values, problem, kind=WordConfig)
    refused({"words": values}, problem)


def test_what_does_not_go_together() -> None:
    refused({"characters": None}, "characters, words: a model needs at least one of them")
    refused({"lstm_projection": False}, "lstm_dim and projection_dim are equal", "4096 and 512")
    refused({"token_projection": False}, "have the size projection_dim (512), found 2048")
    with pytest.raises(InputError, match="found 6 and 4"):
        replace(SMALL, lstm_projection=False)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"layers": 1001}, "layers: expected 1 to 1000, found 1001"),
        ({"characters": {"highway_layers": 1001}}, "expected 0 to 1000, found 1001"),
        ({"characters": {"max_characters": 10**12}}, "expected 3 to 10000, found 1000000000000"),
    ],
)
def test_what_a_few_bytes_could_make_endless(values: dict[str, Any], problem: str) -> None:
    refused(values, problem)


def test_the_place_is_named() -> None:
    with pytest.raises(InputError, match=r"options\.json: unknown key 'x'"):
        ModelConfig.from_dict({"x": 1}, "options.json")


def test_a_missing_key_is_named_in_plain_words() -> None:
    with pytest.raises(InputError) as caught:
        WordConfig.from_dict({"vocabulary_size": 5}, "words")
    assert "embedding_dim" in str(caught.value)
    assert "__init__" not in str(caught.value)


@pytest.mark.parametrize("name", ["cell_clip", "projection_clip", "forget_bias"])
def test_whole_numbers_that_no_float_holds(name: str) -> None:
    refused({name: 10**400}, name)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_the_forget_bias_is_finite(value: float) -> None:
    refused({"forget_bias": value}, "forget_bias", repr(value))


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    nested,
    max_leaves=6,
)


def keyed(kind: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the right keys, for values that may be right or wrong."""
    names = [field.name for field in dataclasses.fields(kind)]
    return st.dictionaries(st.sampled_from(names), json_values, max_size=3)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    values=json_values
    | keyed(ModelConfig)
    | st.builds(lambda inner: {"characters": inner}, keyed(CharacterConfig))
    | st.builds(lambda inner: {"words": inner}, keyed(WordConfig))
    | st.builds(lambda inner: {"marks": inner}, keyed(Marks))
)
def test_any_json_is_a_config_or_an_input_error(values: Any) -> None:
    try:
        config = ModelConfig.from_dict(values)
    except InputError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
