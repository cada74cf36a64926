"""The estimator against the formulas written a second time, and against what must hold."""

import math
from collections import Counter

import numpy as np
import pytest

from elmokit.baselines.kneser_ney import FALLBACK, discounts_of
from elmokit.baselines.ngram_model import NgramModel
from elmokit.errors import InputError
from elmokit.text.vocabulary import Vocabulary
from unit.baselines.slow_kneser_ney import BEGIN, END, UNKNOWN, SlowKneserNey

Sentences = list[list[str]]


def made_text(*, sentences: int = 150, words: int = 30, seed: int = 0) -> Sentences:
    """Sentences in which words follow each other unevenly, some of them of one word."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    text = []
    for _ in range(sentences):
        length = int(random.integers(1, 12))
        start = int(random.integers(words))
        steps = random.choice(words, size=length, p=weights / weights.sum())
        text.append([f"w{(start + step) % words}" for step in steps])
    return text


def vocabulary_of(text: Sentences, least: int = 1) -> Vocabulary:
    counts = Counter(word for sentence in text for word in sentence)
    words = sorted(word for word, count in counts.items() if count >= least)
    return Vocabulary([BEGIN, END, UNKNOWN, *words])


def estimated(text: Sentences, vocabulary: Vocabulary, order: int) -> NgramModel:
    empty = NgramModel(vocabulary=vocabulary, levels=())
    return NgramModel.from_items(empty.items(text), vocabulary, order=order)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("least", [1, 18])  # with 18, many words are unknown
def test_probabilities_are_those_of_the_formulas(order: int, least: int) -> None:
    text = made_text()
    vocabulary = vocabulary_of(text, least)
    model = estimated(text, vocabulary, order)
    slow = SlowKneserNey(text, set(vocabulary.words), order)
    for discount, expected in zip(model.discounts, slow.discounts.values(), strict=True):
        assert discount.values == pytest.approx(expected, rel=1e-12)
    asked = [*made_text(sentences=60, words=33, seed=1), *text[:20]]  # w30 to w32 are unknown
    for sentence, found in zip(asked, model.score(asked), strict=True):
        known = [word if word in vocabulary else UNKNOWN for word in sentence]
        items = [BEGIN, *known, END]
        for place, log_probability in enumerate(found.log_probabilities, start=1):
            p = slow.probability(items[place], tuple(items[:place]))
            # Probabilities are kept in float32: 6e-8 each, a handful multiplied.
            assert log_probability == pytest.approx(math.log(p), abs=1e-6)


def test_the_test_text_has_discounts_of_its_own() -> None:
    """Otherwise the test above would compare nothing but the fallback."""
    text = made_text()
    model = estimated(text, vocabulary_of(text), 5)
    assert sum(discount.estimated for discount in model.discounts) >= 2


def test_discounts_by_hand() -> None:
    # 4 n-grams count 1, 3 count 2, 2 count 3, 1 counts 4, one 9: y = 4 / 10.
    counts = np.array([1] * 4 + [2] * 3 + [3] * 2 + [4] + [9] + [0] * 5)
    found = discounts_of(counts)
    assert found.estimated
    expected = (1 - 2 * 0.4 * 3 / 4, 2 - 3 * 0.4 * 2 / 3, 3 - 4 * 0.4 * 1 / 2)
    assert found.values == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("counts", [[1, 1, 2], [1, 2, 3, 3, 3, 3, 3, 3], []])
def test_text_that_gives_no_discounts_gets_the_usual_ones(counts: list[int]) -> None:
    found = discounts_of(np.array(counts, dtype=np.int64))
    assert not found.estimated
    assert found.values == FALLBACK


@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_may_follow_sums_to_one(order: int) -> None:
    text = made_text()
    # Two words of the vocabulary never occur in the text.
    vocabulary = Vocabulary([*vocabulary_of(text).words, "never", "ever"])
    model = estimated(text, vocabulary, order)
    contexts = [sentence[:length] for sentence in text[:15] for length in range(len(sentence))]
    for context in [*contexts, ["never"], ["w1", "never", "w2"], ["not", "known"]]:
        after = model.next_word(context)
        assert after.sum() == pytest.approx(1, abs=1e-6)  # float32 sums over some 35 words
        assert after[0] == 0  # a sentence does not begin again
        assert (after[1:] > 0).all()
        words = [word for word in vocabulary.words if word != BEGIN][:5]
        for word in words:
            log_probability = model.score([[*context, word]])[0].log_probabilities[-2]
            if word != END:
                place = vocabulary.ids([word])[0]
                assert math.log(after[place]) == pytest.approx(log_probability, abs=1e-6)


def test_a_word_that_follows_many_is_likelier_than_one_as_frequent_that_follows_one() -> None:
    """What Kneser-Ney is for: *Francisco* is frequent, but only after *San*."""
    text = [["San", "Francisco"]] * 6 + [[f"w{n}", "glass"] for n in range(6)]
    vocabulary = vocabulary_of(text)
    after = estimated(text, vocabulary, 2).next_word(["unheard"])
    francisco, glass = vocabulary.ids(["Francisco", "glass"])
    assert after[glass] > 3 * after[francisco]


def test_longest_known_ngrams() -> None:
    model = estimated([["a", "b", "c", "d"]], vocabulary_of([["a", "b", "c", "d"]]), 3)
    assert model.score([["a", "b", "c", "d"]])[0].orders.tolist() == [2, 3, 3, 3, 3]
    assert model.score([["a", "c", "d"]])[0].orders.tolist() == [2, 1, 2, 3]


def test_sentences_shorter_than_the_order(recwarn: pytest.WarningsRecorder) -> None:
    model = estimated([["a"], ["b"]], vocabulary_of([["a"], ["b"]]), 5)
    assert model.ngram_counts == (5, 4, 2, 0, 0)
    assert model.next_word(["a"]).sum() == pytest.approx(1, abs=1e-6)
    assert np.isfinite(model.score([["b", "a", "b", "a", "b", "a"]])[0].log_probabilities).all()
    assert not recwarn.list


def test_sentences_do_not_depend_on_each_other() -> None:
    text = made_text(sentences=40)
    model = estimated(text, vocabulary_of(text), 3)
    together = model.score(text)
    for sentence, found in zip(text, together, strict=True):
        alone = model.score([sentence])[0]
        assert np.array_equal(found.log_probabilities, alone.log_probabilities)
        assert np.array_equal(found.orders, alone.orders)


@pytest.mark.parametrize("order", [0, 10])
def test_an_order_out_of_range(order: int) -> None:
    with pytest.raises(InputError, match=f"order: expected 1 to 9, found {order}"):
        estimated([["a"]], vocabulary_of([["a"]]), order)


def test_a_vocabulary_without_marks() -> None:
    with pytest.raises(InputError, match="lacks the marks <S> </S> <UNK>"):
        NgramModel(vocabulary=Vocabulary(["a"]), levels=())
