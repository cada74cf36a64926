"""Log-probabilities against a float64 numpy forward pass, and what is made of them."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import elmokit
from elmokit.config import WordConfig
from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.formats import bilm_hdf5, native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.language_model import LanguageModel, LanguageStart
from elmokit.lm.score import SentenceScore, score
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.lm.numpy_language_model import BACKWARD, FORWARD, NumpyLanguageModel

SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat", "."],
    ["dog"],
    [],
    ["größe", "字", "unlisted", "<UNK>", "the"],
    ["the"] * 40,
]
FLOAT32_TOLERANCE = 2e-5  # losses of about 5 from float32 sums of 8 terms, after some steps
FLOAT64_TOLERANCE = 1e-9


@pytest.mark.parametrize("start", ["zeros", "warm"])
@pytest.mark.parametrize(
    ("dtype", "tolerance", "sentences"),
    [("float64", FLOAT64_TOLERANCE, SENTENCES), ("float32", FLOAT32_TOLERANCE, SENTENCES[:4])],
)
def test_every_log_probability_is_that_of_the_numpy_pass(
    checkpoint: Checkpoint,
    by_hand: NumpyLanguageModel,
    start: LanguageStart,
    dtype: str,
    tolerance: float,
    sentences: list[list[str]],
) -> None:
    elmo = Elmo(checkpoint, device="cpu", dtype=dtype)
    scores = elmo.score(sentences, start=start)
    for tokens, found in zip(sentences, scores, strict=True):
        state = by_hand.warm_state() if start == "warm" else {}
        forward = by_hand.sentence(FORWARD, tokens, state)
        *backward, mark = by_hand.sentence(BACKWARD, tokens, state)
        assert found.tokens == tuple(tokens)
        np.testing.assert_allclose(found.forward or (), forward, atol=tolerance)
        np.testing.assert_allclose(found.backward or (), [*backward[::-1], mark], atol=tolerance)


def test_words_outside_the_vocabulary_count_as_unknown(
    language_model: LanguageModel,
) -> None:
    (found,) = score(language_model, [["the", "unlisted", "<UNK>", "字"]])
    assert found.unknown == (False, True, True, False)


def test_a_score_does_not_depend_on_what_is_scored_beside_it(
    language_model: LanguageModel,
) -> None:
    together = score(language_model, SENTENCES * 7)
    few_at_once = score(language_model, SENTENCES, batch_tokens=9)
    alone = [score(language_model, [tokens])[0] for tokens in SENTENCES]
    assert together == alone * 7
    assert few_at_once == alone


def test_one_direction_alone(elmo: Elmo) -> None:
    (both,) = elmo.score([SENTENCES[0]])
    (forward,) = elmo.score([SENTENCES[0]], direction="forward")
    (backward,) = elmo.score([SENTENCES[0]], direction="backward")
    assert (forward.forward, forward.backward) == (both.forward, None)
    assert (backward.forward, backward.backward) == (None, both.backward)
    assert forward.log_probability == both.forward_log_probability
    assert forward.backward_log_probability is None
    assert backward.log_probability == both.backward_log_probability


def test_sums_means_and_surprisals_by_hand() -> None:
    found = SentenceScore(("a", "b"), (False, False), (-1.0, -2.0, -3.0), (-2.0, -4.0, -6.0))
    assert found.forward_log_probability == -6
    assert found.backward_log_probability == -12
    assert found.log_probability == -9
    assert found.perplexity == pytest.approx(math.exp(3))
    assert found.surprisals == pytest.approx(
        [1.5 / math.log(2), 3 / math.log(2), 4.5 / math.log(2)]
    )


def test_unknown_words_cost_more_where_sentences_are_compared(elmo: Elmo) -> None:
    known, unknown = elmo.score([["the", "cat"], ["the", "one", "other"]])
    assert known.comparable_log_probability == known.log_probability
    assert unknown.comparable_log_probability == pytest.approx(
        unknown.log_probability - 2 * math.log(len(elmo.language_model.vocabulary))
    )


def test_probabilities_of_the_whole_vocabulary_sum_to_one(language_model: LanguageModel) -> None:
    for direction, words in (("forward", ["<S>", "the", "cat"]), ("backward", ["</S>", "."])):
        found = language_model.next_word(direction, words, start="warm")  # type: ignore[arg-type]
        assert len(found) == len(language_model.vocabulary)
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)


def test_the_probability_of_a_sentence_is_a_probability(language_model: LanguageModel) -> None:
    """All sentences that begin alike and go on with one more item share what there is."""
    vocabulary = language_model.vocabulary.words
    first, second = "the", "cat"
    (stem,) = score(language_model, [[first, second]], direction="forward")
    prefix = sum((stem.forward or ())[:2])
    following = score(
        language_model,
        [[first, second, word] for word in vocabulary if word != "</S>"],
        direction="forward",
    )
    total = sum(math.exp(sum((found.forward or ())[:3])) for found in following)
    total += math.exp(sum(stem.forward or ()))  # the sentence ends here
    assert total == pytest.approx(math.exp(prefix), rel=1e-5)


def test_raw_text_goes_through_the_tokeniser(elmo: Elmo) -> None:
    assert elmo.score(["the cat sat."]) == elmo.score([["the", "cat", "sat", "."]])


def test_the_start_is_that_of_the_model_unless_given(checkpoint: Checkpoint) -> None:
    warm, zeros, carry = (
        Elmo(checkpoint, device="cpu", start=start) for start in ("warm", "zeros", "carry")
    )
    sentence = [["the", "cat"]]
    assert warm.score(sentence) != zeros.score(sentence)
    assert warm.score(sentence) == carry.score(sentence)
    assert warm.score(sentence) == zeros.score(sentence, start="warm")
    assert carry.score(sentence) == carry.score(sentence)


def test_a_stored_start_state_is_the_warm_one(elmo: Elmo, checkpoint: Checkpoint) -> None:
    state = {
        f"start_state.{direction}.{part}": torch.full((2, size), 0.3)
        for direction in ("forward", "backward")
        for part, size in (("cell", 16), ("hidden", 8))
    }
    stored = Elmo(replace(checkpoint, tensors={**checkpoint.tensors, **state}), device="cpu")
    sentence = [["the", "cat"]]
    assert stored.score(sentence) != elmo.score(sentence)
    assert stored.score(sentence, start="zeros") == elmo.score(sentence, start="zeros")


def test_embedding_first_changes_nothing(checkpoint: Checkpoint) -> None:
    """Its warm state has read marks that training never reads."""
    fresh, used = Elmo(checkpoint, device="cpu"), Elmo(checkpoint, device="cpu")
    used.embed(["the cat"])
    assert used.score(["the cat"]) == fresh.score(["the cat"])


@pytest.mark.parametrize("write", [native.write, bilm_hdf5.write])
def test_a_loaded_model_reads_its_softmax_when_it_is_needed(
    write: Callable[[Checkpoint, Path], None],
    elmo: Elmo,
    checkpoint: Checkpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(replace(checkpoint, metadata={}), tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    loaded = elmokit.load("model", device="cpu")
    loaded.embed(["the cat"])
    assert loaded._language_model is None
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert loaded.score(["the cat"]) == elmo.score(["the cat"])


def test_a_model_that_was_replaced_meanwhile_is_refused(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    plain = replace(checkpoint, metadata={})
    native.write(plain, tmp_path / "model")
    loaded = elmokit.load(tmp_path / "model", device="cpu")
    other = replace(checkpoint.config, skip_connections=False)
    native.write(replace(plain, config=other), tmp_path / "model", overwrite=True)
    with pytest.raises(InputError, match="files have changed since it was loaded"):
        loaded.score(["the cat"])


def test_a_model_with_a_softmax_saves_without_it(elmo: Elmo, tmp_path: Path) -> None:
    elmo.save(tmp_path / "saved")
    with pytest.warns(UserWarning):
        saved = elmokit.load(tmp_path / "saved", device="cpu")
    with pytest.raises(InputError, match=r"'tiny-untrained' has no softmax.*elmo convert keeps it"):
        saved.score(["the cat"])


def test_a_softmax_without_its_words_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    bilm_hdf5.write(checkpoint, tmp_path / "model")
    (tmp_path / "model" / "vocab.txt").rename(tmp_path / "words.txt")
    loaded = elmokit.load(tmp_path / "model", device="cpu")
    with pytest.raises(InputError, match=r"softmax of 12 words and no list of them.*--vocabulary"):
        loaded.score(["the cat"])
    loaded = elmokit.load(tmp_path / "model", vocabulary=tmp_path / "words.txt", device="cpu")
    assert len(loaded.score(["the cat"])) == 1


def test_a_vocabulary_without_marks_is_refused(checkpoint: Checkpoint) -> None:
    words = [f"word{number}" for number in range(12)]
    elmo = Elmo(replace(checkpoint, vocabulary=Vocabulary(words)), device="cpu")
    with pytest.raises(InputError, match="lacks the mark '<S>', which this model predicts"):
        elmo.score(["the cat"])


def test_a_word_model_reads_the_unknown_mark_for_words_it_does_not_know(
    checkpoint: Checkpoint,
) -> None:
    config = replace(
        checkpoint.config,
        characters=None,
        words=WordConfig(vocabulary_size=12, embedding_dim=8),
        token_projection=False,
    )
    elmo = Elmo(untrained_checkpoint(config, vocabulary=checkpoint.vocabulary), device="cpu")
    first, second = elmo.score([["the", "one", "sat"], ["the", "other", "sat"]])
    assert first.forward == second.forward
    assert first.backward == second.backward


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "sideways"}, "direction: expected one of both, forward, backward"),
        ({"start": "carry"}, "start: expected 'warm' or 'zeros', found 'carry'"),
    ],
)
def test_wrong_arguments_are_named(elmo: Elmo, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        elmo.score(["the cat"], **arguments)  # type: ignore[arg-type]


def test_a_bare_string_is_refused(elmo: Elmo) -> None:
    with pytest.raises(InputError, match="put it into a list"):
        elmo.score("the cat")


def test_nothing_gives_nothing(elmo: Elmo) -> None:
    assert elmo.score([]) == []
