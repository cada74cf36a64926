"""The next word after a context, or several contexts."""

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.engine.reader import OneDirection
from elmokit.errors import InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.gap import Gap
from elmokit.lm.language_model import CPU_SOFTMAX_ROWS, Context, LanguageModel, LanguageStart
from elmokit.lm.substitutes import shortlists, substitutes
from unit.lm.numpy_language_model import BACKWARD, FORWARD, NumpyLanguageModel

SIDES: tuple[tuple[OneDirection, int, str], ...] = (
    ("forward", FORWARD, "<S>"),
    ("backward", BACKWARD, "</S>"),
)
CONTEXTS = [[], ["the"], ["the", "cat", "sat", "on"], ["unlisted", "字"], ["mat"] * 20]


@pytest.mark.parametrize("start", ["zeros", "warm"])
def test_every_word_has_the_probability_of_the_numpy_pass(
    language_model: LanguageModel, by_hand: NumpyLanguageModel, start: LanguageStart
) -> None:
    """To 2e-5, as for scores: float32 sums after some steps. An empty context is its mark."""
    for direction, number, mark in SIDES:
        for words in CONTEXTS:
            state = by_hand.warm_state() if start == "warm" else {}
            expected = by_hand.read(number, [mark, *words], state)[-1]
            found = language_model.next_word(direction, [mark, *words], start=start)
            np.testing.assert_allclose(found, expected, atol=2e-5)


def test_the_fast_way_gives_what_the_plain_modules_give(checkpoint: Checkpoint) -> None:
    """Each to 2e-5 of float64, as for scores: CPUs differ in the order of their sums, and the two
    ways were seen on opposite sides of it, 2.4e-5 apart.
    """
    fast = Elmo(checkpoint, device="cpu").language_model
    plain = LanguageModel(runner=fast.runner, softmax=fast.softmax, vocabulary=fast.vocabulary)
    exact = Elmo(checkpoint, device="cpu", dtype="float64").language_model
    for direction, _, mark in SIDES:
        for words in CONTEXTS:
            found, slow, wide = (
                model.next_word(direction, [mark, *words], start="warm")
                for model in (fast, plain, exact)
            )
            np.testing.assert_allclose(found, wide, atol=2e-5)
            np.testing.assert_allclose(slow, wide, atol=2e-5)


def test_contexts_that_are_read_together_do_not_mix(language_model: LanguageModel) -> None:
    contexts = [
        Context(direction, [mark, *words]) for words in CONTEXTS for direction, _, mark in SIDES
    ]
    contexts *= 1 + 2 * CPU_SOFTMAX_ROWS // len(contexts)
    together = list(language_model.next_words(contexts, start="warm"))
    assert len(together) == len(contexts)
    for (direction, words), found in zip(contexts, together, strict=True):
        alone = language_model.next_word(direction, words, start="warm")
        np.testing.assert_array_equal(found, alone)


def test_gaps_that_are_filled_together_do_not_mix(language_model: LanguageModel) -> None:
    words = ["cat", None, "the", None, "dog"]
    gaps = [
        Gap(tuple(left), tuple(right), word)
        for left, right, word in zip(CONTEXTS, CONTEXTS[::-1], words, strict=True)
    ]
    counts = [3, 1, 100, 2, 9]
    together = shortlists(language_model, gaps, counts)
    assert [len(found) for found in together] == [3, 1, 8, 2, 8]
    for gap, count, found in zip(gaps, counts, together, strict=True):
        assert found == substitutes(language_model, gap, count=count, rescore=False)


def test_nothing_at_all_is_no_context(language_model: LanguageModel) -> None:
    assert list(language_model.next_words([], start="warm")) == []
    with pytest.raises(InputError, match="words: expected a mark, and words that follow it"):
        language_model.next_word("forward", [], start="warm")
