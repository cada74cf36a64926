from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.serve.fields import (
    check_lengths,
    check_names,
    one_of,
    position_in,
    text_inputs,
    tokenised,
    whole_number,
)
from elmokit.serve.limits import Limits
from elmokit.serve.predicting import check_depth, words_of
from elmokit.serve.problems import RequestError, problem_of_input
from elmokit.serve.served_model import CHARACTERS_OF_WORD, ServedModel, shortened
from unit.serve.small_service import small_elmo

LIMITS = Limits(inputs=3, sentence_tokens=5, request_tokens=8, batch_tokens=10)
SECRET = "a secret word"


def message_of(function: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(RequestError) as raised:
        function(*arguments, **named)
    assert SECRET not in raised.value.message
    assert raised.value.status == 422
    return raised.value.message


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return ServedModel("small", small_elmo())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a b", ["a b"]),
        ("", [""]),
        (["a", "b"], ["a", "b"]),
        ([["a", "b"], []], [["a", "b"], []]),
        ([[]], [[]]),
    ],
)
def test_sentences_come_in_three_shapes(value: Any, expected: Any) -> None:
    assert text_inputs(value, LIMITS, lists=True) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "a string or a list of strings"),
        (5, "a string or a list of strings"),
        ({}, "a string or a list of strings"),
        ([], "at least one sentence in the list"),
        ([SECRET, ["a"]], "a string or a list of strings"),
        ([None], "a string or a list of strings"),
        ([1, 2], "token ids"),
        ([[1, 2]], "token ids"),
        ([[SECRET, ""]], "one character or more"),
        ([[SECRET, None]], "one character or more"),
        ([["a"], [["b"]]], "one character or more"),
        (["a"] * 4, "at most 3 sentences"),
        ([["a"] * 6], "6 tokens, of at most 5"),
        ("a" * 1000, "1000 characters, of at most 320"),
    ],
)
def test_other_inputs_are_refused_without_repeating_them(value: Any, problem: str) -> None:
    assert problem in message_of(text_inputs, value, LIMITS, lists=True)


def test_lists_of_tokens_are_refused_where_sentences_are_pooled() -> None:
    assert "list of strings" in message_of(text_inputs, [["a"]], LIMITS, lists=False)


def test_lengths_are_bounded_one_by_one_and_together() -> None:
    check_lengths([["a"] * 5, ["a"] * 3], LIMITS)
    assert "sentence 1 has 6 tokens" in message_of(check_lengths, [[], ["a"] * 6], LIMITS)
    assert "9 tokens, of at most 8" in message_of(check_lengths, [["a"] * 3] * 3, LIMITS)


def test_unknown_and_missing_fields_are_refused() -> None:
    assert "known here are input, model" in message_of(
        check_names, {"input": "", SECRET: 1}, ("input", "model")
    )
    assert "missing" in message_of(check_names, {}, ("input",))


def test_choices_and_numbers_are_checked() -> None:
    assert one_of({}, "encoding_format", ("float", "base64")) == "float"
    assert one_of({"encoding_format": None}, "encoding_format", ("float", "base64")) == "float"
    assert "one of float, base64" in message_of(one_of, {"f": SECRET}, "f", ("float", "base64"))
    assert "one of" in message_of(one_of, {"f": ["float"]}, "f", ("float",))
    assert whole_number({"count": 3.0}, "count", default=1, most=5) == 3
    for wrong in (0, 6, True, 2.5, "3", [1], 1e300):
        assert "from 1 to 5" in message_of(
            whole_number, {"count": wrong}, "count", default=1, most=5
        )
    assert position_in({"position": 1}, ["a", "b"]) == 1
    assert "from 0 to 1" in message_of(position_in, {"position": 2}, ["a", "b"])
    assert "at least one token" in message_of(position_in, {"position": 0}, [])


def test_tokens_know_their_places(model: ServedModel) -> None:
    text = "Die größe 字."
    sentences = tokenised([text], model, places=True)
    assert [text[one["start"] : one["end"]] for one in sentences.described(0)] == [
        one["text"] for one in sentences.described(0)
    ]
    assert sentences.words == tokenised([text], model, places=False).words
    given = tokenised([["größe", "!"]], model, places=True)
    assert given.described(0)[0] == {"text": "größe", "start": None, "end": None}
    assert given.costs == [4]


def test_very_long_words_give_the_same_vectors_and_take_little_memory(model: ServedModel) -> None:
    long = "größe" * 100_000
    (short,) = shortened([long])
    assert len(short) == CHARACTERS_OF_WORD
    elmo = model.elmo
    assert (elmo.embed([[short]])[0] == elmo.embed([[long]])[0]).all()
    assert tokenised([[long]], model, places=False).words == [[short]]
    assert tokenised([[long]], model, places=True).described(0)[0]["text"] == long


def test_a_model_that_carries_its_state_is_refused() -> None:
    elmo = small_elmo()
    elmo.start = "carry"
    with pytest.raises(InputError, match="one client would see traces of another"):
        ServedModel("small", elmo)


def test_words_of_any_shape_are_counted_and_bounded() -> None:
    assert words_of("a b c") == 5
    assert words_of(["a", "b c"]) == 5
    assert words_of({"context": "a b", "question": "c", "other": 7}) == 7
    assert words_of([["a"], ["b"]]) == 6
    assert "1000 characters" in message_of(words_of, "x" * 1001)
    check_depth([[{"a": [["b"]]}]])
    nested: Any = []
    for _ in range(1000):
        nested = [nested]
    assert "8 deep" in message_of(check_depth, nested)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"text: expected one gap, found 2 in {SECRET!r}", "input: expected one gap"),
        (f"expected a text, found {SECRET}", "input: expected a text"),
        (f"{SECRET} is wrong", "input: expected something else here"),
        ("input: has layers 0 to 2, found 7", "input: has layers 0 to 2"),
    ],
)
def test_messages_of_the_library_lose_what_they_found(message: str, expected: str) -> None:
    problem = problem_of_input(InputError(message))
    assert problem.message.startswith(expected)
    assert SECRET not in problem.message


def test_limits_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(InputError, match="inputs: expected a whole number above 0, found 0"):
        Limits(inputs=0)
    with pytest.raises(InputError, match="must fit into a batch of 100 tokens, found 99"):
        Limits(batch_tokens=100, sentence_tokens=99)
