from typing import Any

import pytest

from elmokit.embed.sentences import check_sentences, token_lists
from elmokit.errors import InputError


def tokens_of(sentences: Any) -> list[list[str]]:
    return list(token_lists(sentences, str.split))


def test_strings_are_tokenised_and_token_lists_are_kept() -> None:
    assert tokens_of(["a b", ["c d", "e"], ("f",), "", [], "  "]) == [
        ["a", "b"],
        ["c d", "e"],
        ["f"],
        [],
        [],
        [],
    ]


def test_token_lists_are_copied() -> None:
    given = ["a", "b"]
    (found,) = tokens_of([given])
    assert found == given
    assert found is not given


def test_sentences_are_taken_one_by_one() -> None:
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield "a b"

    lists = token_lists(endless(), str.split)
    next(lists)
    next(lists)
    assert len(taken) == 2


@pytest.mark.parametrize("value", ["a bare string", b"bytes"])
def test_one_string_is_no_list_and_the_message_says_what_to_do(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        check_sentences(value)
    assert repr(value) in str(caught.value)
    assert "expected a list of sentences" in str(caught.value)
    assert "[text]" in str(caught.value)


@pytest.mark.parametrize("value", [None, 5, 1.5, object])
def test_what_cannot_be_gone_through_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^sentences: expected a list of sentences, found "):
        check_sentences(value)


@pytest.mark.parametrize("value", [None, 5, b"bytes", 1.5])
def test_a_wrong_sentence_is_named_by_its_number(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        tokens_of(["fine", value])
    assert (
        str(caught.value) == f"sentence 1: expected a string or a list of tokens, found {value!r}"
    )


@pytest.mark.parametrize("value", [None, 5, b"bytes", ["nested"]])
def test_a_wrong_token_is_named_by_its_place(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        tokens_of([["fine"], ["fine", "too", value]])
    assert str(caught.value) == f"sentence 1, token 2: expected a string, found {value!r}"


def test_long_values_are_shortened_in_messages() -> None:
    with pytest.raises(InputError) as caught:
        check_sentences("x" * 10_000)
    assert len(str(caught.value)) < 200
