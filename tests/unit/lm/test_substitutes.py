"""Words for a gap: how the gap is written, and how words are weighed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.lm.gap import Gap, find_gap
from elmokit.text.tokenise import WordTokeniser
from elmokit.text.vocabulary import Vocabulary

WORDS = ("the", ".", "cat", "dog", "sat", "on", "mat", "größe", "字")
"""Of the vocabulary, in its order, without the marks."""


def gap(text: Any, word: str | None = None) -> Gap:
    return find_gap(text, tokenise=WordTokeniser(), word=word)


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("The ___ raised its rates", ["The"], ["raised", "its", "rates"]),
        ("A stone through the _______.", ["A", "stone", "through", "the"], ["."]),
        ("___ is here", [], ["is", "here"]),
        ("It is ___", ["It", "is"], []),
        ("___", [], []),
        ("the ___'s door", ["the"], ["'s", "door"]),
        ("(___)", ["("], [")"]),
        (["The", "____", "."], ["The"], ["."]),
        (("The", "___", "."), ["The"], ["."]),
    ],
)
def test_a_gap_is_three_underscores_or_more(text: Any, left: list[str], right: list[str]) -> None:
    assert gap(text) == Gap(tuple(left), tuple(right))


def test_a_gap_is_named_by_its_place_or_its_word() -> None:
    expected = Gap(("The",), ("raised", "its", "rates"), "bank")
    assert gap((["The", "bank", "raised", "its", "rates"], 1)) == expected
    assert gap("The bank raised its rates", "bank") == expected
    assert gap(["The", "bank", "raised", "its", "rates"], "bank") == expected


@pytest.mark.parametrize(
    ("text", "word", "message"),
    [
        ("The bank", None, "expected one gap, written ___ .*found 0 in 'The bank'"),
        ("The __ bank", None, "found 0 in 'The __ bank'"),
        ("The ___ of ___", None, "found 2"),
        (["a", "___", "___"], None, "found 2"),
        ("un___able", None, "found part of one in 'un___able'"),
        ("The bank", "river", "found 'river', which it has 0 times"),
        ("the cat and the dog", "the", "found 'the', which it has 2 times"),
        ("The ___ bank", "bank", "the text has a gap already"),
        ((["a", "b"], 2), None, "one of 2 tokens, counted from 0, found 2"),
        ((["a", "b"], -1), None, "found -1"),
        ((["a", "b"], 1), "b", "the place of the gap is given already"),
        (["a", 3, "___"], None, "expected tokens that are strings, found 3"),
        (7, None, "expected a string or a list of tokens, found 7"),
        (("ab", 1), None, "expected a string or a list of tokens, found 'ab'"),
    ],
)
def test_unclear_gaps_are_refused(text: Any, word: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gap(text, word)


def test_candidates_are_weighed_by_the_whole_sentence(elmo: Elmo) -> None:
    candidates = ["cat", "dog on the", "unlisted"]
    found = elmo.substitutes("the ___ sat.", candidates=candidates)
    scores = elmo.score([f"the {candidate} sat." for candidate in candidates])
    weights = {
        candidate: math.exp(scored.comparable_log_probability)
        for candidate, scored in zip(candidates, scores, strict=True)
    }
    assert sum(substitute.probability for substitute in found) == pytest.approx(1)
    assert [substitute.word for substitute in found] == sorted(weights, key=lambda w: -weights[w])
    for substitute in found:
        share = weights[substitute.word] / sum(weights.values())
        assert substitute.probability == pytest.approx(share, rel=1e-9)
        assert substitute.unknown == (substitute.word == "unlisted")
        scored = scores[candidates.index(substitute.word)]
        size = len(substitute.word.split())
        assert substitute.forward_log_probability == pytest.approx(
            sum((scored.forward or ())[1 : 1 + size])
        )
        assert substitute.backward_log_probability == pytest.approx(
            sum((scored.backward or ())[1 : 1 + size])
        )
        assert substitute.log_probability == scored.log_probability


def test_candidates_in_one_direction(elmo: Elmo) -> None:
    found = elmo.substitutes("the ___ sat.", candidates=["cat", "dog"], direction="forward")
    cat, dog = elmo.score(["the cat sat.", "the dog sat."], direction="forward")
    odds = math.exp(cat.log_probability - dog.log_probability)
    by_word = {substitute.word: substitute for substitute in found}
    assert by_word["cat"].probability == pytest.approx(odds / (1 + odds))
    assert by_word["cat"].backward_log_probability is None


def test_a_candidate_given_twice_counts_once(elmo: Elmo) -> None:
    twice = elmo.substitutes("the ___ sat.", candidates=["cat", "dog", "cat"])
    assert twice == elmo.substitutes("the ___ sat.", candidates=["cat", "dog"])


def test_without_rescoring_both_sides_and_the_prior_are_multiplied(elmo: Elmo) -> None:
    for prior in (0.0, 0.5, 1.0):
        found = elmo.substitutes("the ___ sat.", rescore=False, prior=prior, count=100)
        model = elmo.language_model
        forward = model.next_word("forward", ["<S>", "the"], start="warm")
        backward = model.next_word("backward", ["</S>", ".", "sat"], start="warm")
        ids = model.vocabulary.ids(WORDS)
        alone = np.log((ids + 2) / (ids + 1)) / math.log(len(model.vocabulary) + 1)
        weights = np.exp(forward[ids] + backward[ids]) / alone**prior
        expected = dict(zip(WORDS, weights / weights.sum(), strict=True))
        assert {substitute.word: substitute.probability for substitute in found} == pytest.approx(
            expected
        )
        probabilities = [substitute.probability for substitute in found]
        assert probabilities == sorted(probabilities, reverse=True)
        (cat,) = (substitute for substitute in found if substitute.word == "cat")
        assert cat.forward_log_probability == forward[model.vocabulary.ids(["cat"])[0]]
        assert cat.backward_log_probability == backward[model.vocabulary.ids(["cat"])[0]]
        assert cat.log_probability is None


def test_rescoring_compares_whole_sentences(elmo: Elmo) -> None:
    """Shares are sums of float64 in another order, hence not equal to the last bit."""
    found = elmo.substitutes("the ___ sat.", count=100)
    expected = elmo.substitutes("the ___ sat.", candidates=WORDS)
    for one, other in zip(found, expected, strict=True):
        assert one.probability == pytest.approx(other.probability, rel=1e-12)
        assert replace(one, probability=other.probability) == other


def test_few_words_are_the_best_of_many(elmo: Elmo) -> None:
    for rescore in (False, True):
        many = elmo.substitutes("the ___ sat.", count=9, rescore=rescore)
        assert elmo.substitutes("the ___ sat.", count=3, rescore=rescore) == many[:3]


def test_marks_and_the_word_itself_are_no_substitutes(elmo: Elmo) -> None:
    found = elmo.substitutes("the cat sat.", word="cat", count=100)
    assert {substitute.word for substitute in found} == set(WORDS) - {"cat"}
    again = elmo.substitutes("the cat sat.", word="cat", candidates=["cat", "dog"])
    assert {substitute.word for substitute in again} == {"cat", "dog"}


def test_a_word_that_the_vocabulary_has_twice_is_given_once(elmo: Elmo) -> None:
    model = elmo.language_model
    words = list(model.vocabulary.words)
    words[words.index("dog")] = "cat"
    before = model.vocabulary
    try:
        model.vocabulary = Vocabulary(words)
        found = elmo.substitutes("the ___ sat.", count=100, rescore=False)
    finally:
        model.vocabulary = before
    assert sorted(substitute.word for substitute in found) == sorted(set(WORDS) - {"dog"})


def test_the_vocabulary_is_walked_once(elmo: Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary(elmo.language_model.vocabulary.words)
    monkeypatch.setattr(elmo.language_model, "vocabulary", vocabulary)
    sizes = []

    def counted(words: Sequence[str]) -> Any:
        sizes.append(len(words))
        return Vocabulary.ids(vocabulary, words)

    monkeypatch.setattr(vocabulary, "ids", counted)
    for word in ("cat", "dog", "cat"):
        found = elmo.substitutes("the ___ sat.", count=100, rescore=False)
        assert {substitute.word for substitute in found} == set(WORDS)
        found = elmo.substitutes(f"the {word} sat.", word=word, count=100, rescore=False)
        assert {substitute.word for substitute in found} == set(WORDS) - {word}
    assert sizes.count(len(vocabulary)) == 1


def test_a_gap_without_neighbours(elmo: Elmo) -> None:
    assert len(elmo.substitutes("___", count=5)) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count: expected a whole number above 0, found 0"),
        ({"prior": math.nan}, "prior: expected a finite number"),
        ({"candidates": []}, "candidates: expected at least one word, found none"),
        ({"candidates": ["cat", " "]}, "candidates: expected words, found an empty one"),
        ({"candidates": "cat"}, "expected a list"),
        ({"direction": "forward"}, "direction: one alone needs candidates, found 'forward'"),
        ({"direction": "up", "candidates": ["cat"]}, "direction: expected one of both"),
        ({"start": "carry"}, "start: expected 'warm' or 'zeros'"),
    ],
)
def test_wrong_arguments_are_named(elmo: Elmo, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        elmo.substitutes("the ___ sat.", **arguments)
