import pytest
import torch

from elmokit.tasks.inputs.lexicon import (
    BEGIN,
    END,
    MOST_CHARACTERS,
    PADDING,
    UNKNOWN,
    Lexicon,
    learnt_words,
)

CPU = torch.device("cpu")


def spelling(lexicon: Lexicon, word: str) -> list[int]:
    [number] = lexicon.numbers([word])
    found: list[int] = lexicon.forms(CPU).spellings[number].tolist()
    return found


def test_equal_forms_have_equal_numbers() -> None:
    lexicon = Lexicon([])
    first = lexicon.numbers(["a", "b", "a"]).tolist()
    assert first[0] == first[2] != first[1]
    assert lexicon.numbers(["b", "c", "a"]).tolist() == [first[1], 2, first[0]]
    assert len(lexicon) == 3


def test_no_tokens_have_no_numbers() -> None:
    assert Lexicon([]).numbers([]).tolist() == []


def test_a_form_brings_its_lower_case_with_it() -> None:
    lexicon = Lexicon([])
    upper, lower = lexicon.numbers(["Cat", "cat"]).tolist()
    assert upper != lower
    assert len(lexicon) == 2
    lowered = lexicon.forms(CPU).lowered.tolist()
    assert lowered[upper] == lowered[lower] == lower
    only = Lexicon([])
    only.numbers(["CAT"])
    assert len(only) == 2


def test_vectors_are_found_by_form_then_by_lower_case() -> None:
    lexicon = Lexicon(["us", "Us", "cat"])
    numbers = lexicon.numbers(["us", "Us", "US", "Cat", "dog", "Dog"])
    assert lexicon.forms(CPU).vectors[numbers].tolist() == [1, 2, 1, 3, UNKNOWN, UNKNOWN]


def test_digits_stand_for_each_other_where_a_number_has_no_vector() -> None:
    lexicon = Lexicon(["1996", "0000", "00th"])
    numbers = lexicon.numbers(["1996", "1997", "61TH", "0000", "12"])
    assert lexicon.forms(CPU).vectors[numbers].tolist() == [1, 2, 3, 2, UNKNOWN]
    texts = [["1996", "5-0", "2-1", "7th", "x"], ["4-4", "8th", "1997"]]
    assert learnt_words(texts, {"1996", "0000"}, min_count=1) == ["0-0", "0th", "x"]


def test_a_vector_in_upper_case_alone_serves_no_other_form() -> None:
    lexicon = Lexicon(["NASA"])
    numbers = lexicon.numbers(["NASA", "nasa", "Nasa"])
    assert lexicon.forms(CPU).vectors[numbers].tolist() == [1, UNKNOWN, UNKNOWN]


def test_spellings_are_bytes_between_marks() -> None:
    lexicon = Lexicon([])
    found = spelling(lexicon, "ab")
    assert found == [BEGIN, 97, 98, END, *[PADDING] * (MOST_CHARACTERS - 4)]
    assert spelling(lexicon, "ä")[:4] == [BEGIN, 0xC3, 0xA4, END]
    assert spelling(lexicon, "猫")[:5] == [BEGIN, 0xE7, 0x8C, 0xAB, END]


def test_long_words_are_cut() -> None:
    lexicon = Lexicon([])
    most = MOST_CHARACTERS - 2
    assert spelling(lexicon, "x" * most) == [BEGIN, *[120] * most, END]
    assert spelling(lexicon, "x" * 1000) == [BEGIN, *[120] * most, END]
    assert spelling(lexicon, "ä" * 1000)[-1] == END


def test_a_lone_surrogate_can_be_spelled() -> None:
    assert spelling(Lexicon([]), "\ud800")[0] == BEGIN


def test_forms_grow_with_the_lexicon() -> None:
    lexicon = Lexicon(["b"])
    lexicon.numbers(["a"])
    first = lexicon.forms(CPU)
    assert first is lexicon.forms(CPU)  # made once
    lexicon.numbers(["a"])
    assert first is lexicon.forms(CPU)
    lexicon.numbers(["B", "c"])
    grown = lexicon.forms(CPU)
    assert len(grown.vectors) == len(grown.lowered) == len(grown.spellings) == 4
    for before, after in zip(first, grown, strict=True):
        assert torch.equal(before, after[:1])
    assert grown.vectors.tolist() == [0, 1, 1, 0]
    assert grown.lowered.tolist() == [0, 1, 1, 3]


def test_words_to_learn_are_frequent_and_lack_a_vector() -> None:
    texts = [["B", "a", "c", "c"], ["b", "a", "d", "The"], ["b", "the"]]
    assert learnt_words(texts, ["the"], min_count=2) == ["b", "a", "c"]
    assert learnt_words(texts, ["the"], min_count=1) == ["b", "a", "c", "d"]
    assert learnt_words(texts, [], min_count=3) == ["b"]
    assert learnt_words(texts, ["a", "b", "c", "d", "the", "x"], min_count=1) == []


def test_a_vector_for_another_case_does_not_keep_a_word_from_being_learnt() -> None:
    # "NASA" in the file is no vector of "nasa".
    assert learnt_words([["NASA", "nasa"]], ["NASA"], min_count=1) == ["nasa"]


@pytest.mark.parametrize("odd", ["\n", "a\nb", "\ud800"])
def test_words_that_cannot_stand_in_a_list_are_not_learnt(odd: str) -> None:
    assert learnt_words([[odd, "a", odd]], [], min_count=1) == ["a"]
