"""The probes on made vectors whose answers are known, and against independent references."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from elmokit.analysis.probes.linear_tagger import LinearRecipe, fit, moments
from elmokit.analysis.probes.pos import probe_pos
from elmokit.analysis.probes.sense_inventory import SenseInventory
from elmokit.analysis.probes.sense_text import Lemma, SenseInstance, SenseSentence
from elmokit.analysis.probes.tagged_text import TaggedSentence
from elmokit.analysis.probes.wic import best_threshold, pair_cosines, probe_wic
from elmokit.analysis.probes.word_pairs import WordInText, WordPair
from elmokit.analysis.probes.wsd import probe_wsd, sense_means
from elmokit.embed.layer_choice import Vectors
from elmokit.errors import InputError


class MadeLayers:
    """Layer 0 is the word's own vector, layer 1 the mean of the sentence's vectors."""

    name = "made"
    layers: tuple[int | None, ...] = (0, 1)
    dim = 8

    def __init__(self) -> None:
        self.calls = 0

    def word(self, word: str) -> Vectors:
        seed = sum(ord(character) << place for place, character in enumerate(word))
        return np.random.default_rng(seed).normal(size=self.dim).astype(np.float32)

    def vectors(self, sentences: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        self.calls += 1
        for tokens in sentences:
            own = np.stack([self.word(token) for token in tokens])
            yield np.stack([own, np.broadcast_to(own.mean(axis=0), own.shape)])


# the linear tagger


def test_moments_are_those_of_numpy() -> None:
    vectors = np.random.default_rng(0).normal(3, 2, size=(2, 5000, 3)).astype(np.float16)
    mean, deviation = moments(torch.from_numpy(vectors))
    exact = vectors.astype(np.float64)
    # float32 has seven digits
    np.testing.assert_allclose(mean.numpy(), exact.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(deviation.numpy(), exact.std(axis=1), rtol=1e-5)


def test_the_tagger_is_as_good_as_logistic_regression() -> None:
    """Against scikit-learn on classes that overlap; 1 point is five of 500 tokens."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(4, 6))
    classes = random.integers(4, size=2500)
    vectors = (centres[classes] + random.normal(size=(2500, 6))).astype(np.float32) * 7 + 3
    tagger = fit(
        torch.from_numpy(vectors[None, :2000]),
        torch.from_numpy(classes[:2000]),
        count=4,
        recipe=LinearRecipe(weight_decay=0.0, learning_rate=0.05, least_steps=600),
    )
    found = tagger.predict(torch.from_numpy(vectors[None, 2000:])).numpy()
    reference = LogisticRegression(max_iter=1000).fit(vectors[:2000], classes[:2000])
    expected = reference.predict(vectors[2000:])
    assert (found == expected).mean() >= 0.98
    accuracy, best = ((answer == classes[2000:]).mean() for answer in (found, expected))
    assert 0.5 < best < 0.95, "the classes overlap"
    assert accuracy == pytest.approx(best, abs=0.01)


def test_the_mix_finds_the_layer_that_knows() -> None:
    random = np.random.default_rng(1)
    classes = torch.from_numpy(random.integers(3, size=1000))
    noise = torch.from_numpy(random.normal(size=(1000, 5)).astype(np.float32))
    knows = torch.nn.functional.one_hot(classes, 5).float() + 0.1 * noise
    layers = torch.stack([noise.flip(0), knows, noise.flip(1)])
    tagger = fit(layers, classes, count=3, recipe=LinearRecipe(least_steps=600))
    assert tagger.mix.sum().item() == pytest.approx(1, abs=1e-5)
    assert tagger.mix.argmax() == 1
    assert (tagger.predict(layers) == classes).float().mean() > 0.95


def test_a_small_text_has_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    step = torch.optim.AdamW.step

    def counted(self: torch.optim.AdamW) -> None:
        taken.append(1)
        step(self)

    monkeypatch.setattr(torch.optim.AdamW, "step", counted)
    vectors, classes = torch.randn(1, 10, 2), torch.arange(10) % 2
    fit(vectors, classes, count=2, recipe=LinearRecipe(batch_size=4, least_steps=31))
    assert len(taken) == 60, "20 epochs of three steps are enough"
    taken.clear()
    fit(vectors, classes, count=2, recipe=LinearRecipe(batch_size=4, least_steps=100))
    assert len(taken) == 102, "whole epochs"


# parts of speech

TRAIN = [
    TaggedSentence(("the", "play", "ended"), ("DET", "NOUN", "VERB")),
    TaggedSentence(("they", "play", "the", "tune"), ("PRON", "VERB", "DET", "NOUN")),
    TaggedSentence(("the", "play", "은행", "x"), ("DET", "NOUN", "NOUN", None)),
]


def test_tags_that_a_word_decides_are_found_before_context() -> None:
    source = MadeLayers()
    test = [TaggedSentence(("they", "ended", "the", "은행"), ("PRON", "VERB", "DET", "NOUN"))]
    recipe = LinearRecipe(least_steps=600)
    report = probe_pos([source], train=TRAIN * 30, test=test, layers=[0], recipe=recipe)
    assert [(score.name, score.layer) for score in report.scores] == [
        ("most frequent tag", None),
        ("made", 0),
    ]
    assert [score.accuracy for score in report.scores] == [100, 100]
    assert (report.tags, report.train_tokens, report.tokens) == (4, 300, 4)
    assert source.calls == 2, "train and test, once each for all layers"


def test_the_baseline_takes_the_usual_tag() -> None:
    """play: NOUN twice, VERB once; new words: NOUN, the most frequent tag; new tags are wrong."""
    test = [
        TaggedSentence(("they", "play", "new", "x"), ("PRON", "VERB", "NOUN", None)),
        TaggedSentence(("play", "new"), ("NOUN", "INTJ")),
    ]
    dev = [TaggedSentence(("the", "new"), ("DET", "ADV"))]
    report = probe_pos([], train=TRAIN, dev=dev, test=test)
    (score,) = report.scores
    assert score.accuracy == pytest.approx(100 * 3 / 5)
    assert score.dev_accuracy == pytest.approx(50)
    assert report.tokens == 5
    assert report.facts() == {
        "tags": 4,
        "train_tokens": 10,
        "tokens": 5,
        "layers": [],
        "baselines": [
            {"name": "most frequent tag", "accuracy": score.accuracy, "dev_accuracy": 50.0}
        ],
    }


def test_the_mix_is_one_more_row() -> None:
    recipe = LinearRecipe(least_steps=50)
    report = probe_pos([MadeLayers()], train=TRAIN, dev=TRAIN, layers=[1, "mix"], recipe=recipe)
    facts = report.facts()
    assert [row["layer"] for row in facts["layers"]] == [1, "mix"]
    assert len(facts["layers"][1]["mix"]) == 2
    assert sum(facts["layers"][1]["mix"]) == pytest.approx(1, abs=1e-5)
    assert report.scores[-1].accuracy == report.scores[-1].dev_accuracy


def test_wrong_wishes_about_tags() -> None:
    with pytest.raises(InputError, match="found neither test nor dev"):
        probe_pos([], train=TRAIN)
    with pytest.raises(InputError, match=r"expected one of \[0, 1\] or 'mix', found 2"):
        probe_pos([MadeLayers()], train=TRAIN, dev=TRAIN, layers=[2])


# senses


def sense(tokens: str, place: int, key: str, lemma: str = "bank") -> SenseSentence:
    keys = tuple(key.split("|"))
    return SenseSentence(tuple(tokens.split()), (SenseInstance(place, Lemma(lemma, "NOUN"), keys),))


SENSES = [
    sense("bank of water", 0, "river"),
    sense("money in bank", 2, "money"),
    sense("money bank", 1, "money"),
]


def test_senses_come_the_most_frequent_first() -> None:
    inventory = SenseInventory([*SENSES, sense("plays", 0, "sport|game", "play")])
    bank, play = (inventory.of_lemma[Lemma(word, "NOUN")] for word in ("bank", "play"))
    assert bank.keys == ("money", "river")
    np.testing.assert_allclose(np.exp(bank.log_prior), [2 / 3, 1 / 3], rtol=1e-6)
    assert sorted([*bank.numbers, *play.numbers]) == [0, 1, 2, 3]
    assert inventory.size == 4


def test_means_are_those_of_the_occurrences() -> None:
    source, inventory = MadeLayers(), SenseInventory(SENSES)
    means = sense_means(source, SENSES, inventory)
    money = inventory.of_lemma[Lemma("bank", "NOUN")].numbers[0]
    one = np.mean([source.word(word) for word in ("money", "in", "bank")], axis=0)
    two = np.mean([source.word(word) for word in ("money", "bank")], axis=0)
    expected = (one + two) / np.linalg.norm(one + two)
    np.testing.assert_allclose(means[1, money], expected, atol=1e-6)  # float32


def test_context_tells_senses_and_the_word_alone_does_not() -> None:
    tests = {
        "first": [sense("water of bank", 2, "river"), sense("bank in money", 0, "money")],
        "second": [sense("bank of water", 0, "river|shore"), sense("tide", 0, "tide", "tide")],
    }
    report = probe_wsd([MadeLayers()], train=SENSES, tests=tests, prior=0.0)
    usual, word, context = report.scores
    assert (usual.name, usual.layer, usual.f1) == ("most frequent sense", None, 25)
    assert usual.neighbour_f1 is None
    assert (word.layer, word.f1) == (0, 25), "all senses are alike, so the first is taken"
    assert (context.layer, context.f1, context.neighbour_f1) == (1, 75, 75)
    assert context.tests == {"first": 100, "second": 50}
    assert context.parts_of_speech == {"NOUN": 75}
    assert (report.instances, report.untrained) == (4, 1)
    assert report.fallback == "none: counted as wrong"
    facts = report.facts()
    assert [(row["layer"], row["f1"]) for row in facts["layers"]] == [(0, 25), (1, 75)]
    assert [row["name"] for row in facts["baselines"]] == ["most frequent sense"]


def test_words_that_training_lacks_get_their_first_sense() -> None:
    tests = {"one": [sense("tide", 0, "tide", "tide"), sense("water of bank", 2, "river")]}
    first = {Lemma("tide", "NOUN"): "tide", Lemma("bank", "NOUN"): "river"}
    report = probe_wsd([MadeLayers()], train=SENSES, tests=tests, first_senses=first, prior=0.0)
    assert [(score.name, score.layer, score.f1) for score in report.scores] == [
        ("most frequent sense", None, 50),
        ("first sense in WordNet", None, 100),
        ("made", 0, 50),
        ("made", 1, 100),
    ]
    assert report.untrained == 1
    assert report.fallback == "first sense in WordNet"


def test_a_heavy_prior_is_the_most_frequent_sense() -> None:
    tests = {"one": [sense("water of bank", 2, "river"), sense("bank in money", 0, "money")]}
    report = probe_wsd([MadeLayers()], train=SENSES, tests=tests, prior=100.0)
    context = report.scores[-1]
    assert (context.f1, context.neighbour_f1) == (50, 100)


def test_the_prior_is_added_to_the_cosine() -> None:
    """Against the rule written out; the prior that turns the answer lies where it must."""
    source = MadeLayers()
    probe = sense("water of bank", 2, "river")
    (query,) = source.vectors([probe.tokens])
    inventory = SenseInventory(SENSES)
    means = sense_means(source, SENSES, inventory)[1]
    money, river = means[inventory.of_lemma[Lemma("bank", "NOUN")].numbers] @ query[1, 2]
    gap = (river - money) / np.linalg.norm(query[1, 2])
    turn = float(gap / np.log(2))  # money has twice as many occurrences
    for prior, f1 in ((turn * 0.99, 100), (turn * 1.01, 0)):
        report = probe_wsd([source], train=SENSES, tests={"one": [probe]}, prior=prior)
        assert report.scores[-1].f1 == f1


def test_wrong_wishes_about_senses() -> None:
    with pytest.raises(InputError, match="tests: expected at least one"):
        probe_wsd([], train=SENSES, tests={})
    for prior in (-1.0, float("nan")):
        with pytest.raises(InputError, match=f"prior: expected a number from 0 up, found {prior}"):
            probe_wsd([], train=SENSES, tests={"one": SENSES}, prior=prior)


# pairs of uses


def test_the_best_threshold_is_that_of_trying_all() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        cosines = random.integers(6, size=12) / 5
        same = random.random(12) < cosines
        threshold = best_threshold(cosines, same)
        values = np.unique(cosines)
        middles = [(low + high) / 2 for low, high in pairwise(values)]
        rights = [((cosines >= t) == same).sum() for t in (values[0] - 1, *middles, values[-1] + 1)]
        assert ((cosines >= threshold) == same).sum() == max(rights)


def use(text: str, first: int, last: int) -> WordInText:
    return WordInText(tuple(text.split()), first, last)


def test_a_use_of_several_tokens_is_their_mean() -> None:
    source = MadeLayers()
    pairs = [WordPair((use("take place now", 0, 1), use("place", 0, 0)), True)]
    one = (source.word("take") + source.word("place")) / 2
    two = source.word("place")
    expected = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert pair_cosines(source, pairs)[0, 0] == pytest.approx(expected, abs=1e-6)  # float32


def test_context_tells_uses_apart() -> None:
    same = WordPair((use("bank of water", 0, 0), use("water of bank", 2, 2)), True)
    other = WordPair((use("bank of water", 0, 0), use("money in 은행 bank", 3, 3)), False)
    report = probe_wic([MadeLayers()], train=[same, other], dev=[same, other, other])
    usual, word, context = report.scores
    assert (usual.name, usual.threshold) == ("most frequent answer", None)
    assert usual.accuracy == pytest.approx(100 / 3)
    assert word.train_accuracy == 50, "the word alone is the same everywhere"
    assert (context.layer, context.accuracy, context.train_accuracy) == (1, 100, 100)
    facts = report.facts()
    assert (facts["train_pairs"], facts["pairs"]) == (2, 3)
    assert [(row["layer"], row["accuracy"]) for row in facts["layers"]][1] == (1, 100)
    assert [row["name"] for row in facts["baselines"]] == ["most frequent answer"]
