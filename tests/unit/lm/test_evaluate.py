"""Perplexity of a text: every item counted once, the state carried as in training."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest

from elmokit.config import Marks
from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.evaluate import CarriedOver, Evaluation, evaluate
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.numbered_text import NumberedText
from reference import State
from unit.lm.numpy_language_model import BACKWARD, FORWARD, NumpyLanguageModel

DOCUMENTS = [
    [["the", "cat", "sat", "."], ["the", "dog", "sat", "on", "the", "mat", "."], ["unlisted"]],
    [["größe", "字", "."]],
    [["the", "mat", "."], ["on", "."]] * 30,
]
TOKENS = (12 + 3) + (3 + 1) + 30 * (5 + 2)


def numbered(documents: Sequence[Sequence[Sequence[str]]]) -> NumberedText:
    text = NumberedText(Marks())
    for sentences in documents:
        text.add(sentences, size=sum(len(" ".join(tokens).encode()) + 1 for tokens in sentences))
    return text


def figures(evaluation: Evaluation) -> dict[str, float]:
    return {name: value for name, value in asdict(evaluation).items() if not isinstance(value, str)}


@pytest.fixture(scope="module")
def exact(checkpoint: Checkpoint) -> LanguageModel:
    """In float64, so that what is compared differs by nothing but a mistake."""
    return Elmo(checkpoint, device="cpu", dtype="float64").language_model


def mean_losses(
    by_hand: NumpyLanguageModel, documents: Sequence[Sequence[Sequence[str]]], warm: bool
) -> tuple[float, float]:
    """The mean loss of each direction, every document from the start state."""
    start = by_hand.warm_state() if warm else {}
    means = []
    for direction in (FORWARD, BACKWARD):
        values: list[float] = []
        for sentences in documents:
            state: State = dict(start)
            values += by_hand.document(direction, sentences, state)
        means.append(-math.fsum(values) / len(values))
    return means[0], means[1]


@pytest.mark.parametrize("start", ["zeros", "warm"])
@pytest.mark.parametrize("state", ["document", "carry", "sentence"])
def test_the_state_is_carried_as_asked(
    exact: LanguageModel, by_hand: NumpyLanguageModel, state: CarriedOver, start: Any
) -> None:
    streams = {
        "document": DOCUMENTS,
        "carry": [[tokens for document in DOCUMENTS for tokens in document]],
        "sentence": [[tokens] for document in DOCUMENTS for tokens in document],
    }[state]
    forward, backward = mean_losses(by_hand, streams, start == "warm")
    found = evaluate(exact, numbered(DOCUMENTS), state=state, start=start)
    assert (found.state, found.start) == (state, start)
    assert math.log(found.forward_perplexity) == pytest.approx(forward, abs=1e-9)
    assert math.log(found.backward_perplexity) == pytest.approx(backward, abs=1e-9)
    assert math.log(found.perplexity) == pytest.approx((forward + backward) / 2, abs=1e-9)


def test_the_three_ways_differ(exact: LanguageModel) -> None:
    found = {
        evaluate(exact, numbered(DOCUMENTS), state=state).perplexity
        for state in ("document", "carry", "sentence")
    }
    assert len({round(perplexity, 6) for perplexity in found}) == 3


@pytest.mark.parametrize("state", ["document", "carry", "sentence"])
def test_everything_is_counted_once(language_model: LanguageModel, state: CarriedOver) -> None:
    done: list[int] = []
    found = evaluate(language_model, numbered(DOCUMENTS), state=state, advance=done.append)
    assert sum(done) == 2 * TOKENS
    assert found.tokens == TOKENS
    assert found.sentences == 3 + 1 + 60
    assert found.words == TOKENS - found.sentences
    assert found.documents == 3
    assert found.unknown_words == 1
    assert found.oov_rate == pytest.approx(1 / found.words)


@pytest.mark.parametrize("state", ["document", "carry", "sentence"])
@pytest.mark.parametrize("batch_tokens", [1, 7, 64, 100, 1000])
def test_batches_and_windows_do_not_show(
    language_model: LanguageModel, state: CarriedOver, batch_tokens: int
) -> None:
    """The longest document is longer than the shortest window."""
    text = numbered(DOCUMENTS)
    whole = evaluate(language_model, text, state=state, batch_tokens=100_000)
    found = evaluate(language_model, text, state=state, batch_tokens=batch_tokens)
    assert figures(found) == pytest.approx(figures(whole), rel=1e-12)


def test_the_order_of_documents_does_not_show(language_model: LanguageModel) -> None:
    found = evaluate(language_model, numbered(DOCUMENTS))
    turned = evaluate(language_model, numbered(DOCUMENTS[::-1]))
    assert figures(turned) == pytest.approx(figures(found), rel=1e-12)


def test_a_lone_sentence_has_the_perplexity_of_its_score(elmo: Elmo) -> None:
    sentence = ["the", "cat", "sat", "."]
    (scored,) = elmo.score([sentence])
    found = evaluate(elmo.language_model, numbered([[sentence]]))
    assert found.perplexity == pytest.approx(scored.perplexity, rel=1e-12)


def test_bits_by_hand(language_model: LanguageModel) -> None:
    found = evaluate(language_model, numbered([[["the", "größe"], ["字"]]]))
    assert found.bytes == len("the größe\n字\n".encode())
    assert found.tokens == 5
    for prefix in ("forward_", "backward_", ""):
        perplexity, per_word, per_byte = (
            getattr(found, f"{prefix}{name}")
            for name in ("perplexity", "bits_per_word", "bits_per_byte")
        )
        assert per_word == pytest.approx(math.log2(perplexity))
        assert per_byte == pytest.approx(5 * math.log2(perplexity) / found.bytes)
    assert found.bits_per_byte == pytest.approx(
        (found.forward_bits_per_byte + found.backward_bits_per_byte) / 2
    )


def test_a_direction_never_reads_the_mark_that_it_predicts_last() -> None:
    text = numbered([[["a", "b"], ["c"]]])
    (document,) = text.documents
    assert [
        [[text.words[number] for number in numbers] for numbers in document.stream(direction)]
        for direction in ("forward", "backward")
    ] == [
        [["<S>", "a", "b", "<S>", "c"], ["a", "b", "</S>", "c", "</S>"]],
        [["</S>", "c", "</S>", "b", "a"], ["c", "<S>", "b", "a", "<S>"]],
    ]


def test_a_state_of_the_future_is_refused(language_model: LanguageModel) -> None:
    with pytest.raises(InputError, match="state: expected one of document, carry, sentence"):
        evaluate(language_model, numbered(DOCUMENTS), state="paragraph")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="start: expected 'warm' or 'zeros', found 'carry'"):
        evaluate(language_model, numbered(DOCUMENTS), start="carry")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="batch_tokens: expected a whole number above 0, found 0"):
        evaluate(language_model, numbered(DOCUMENTS), batch_tokens=0)


def test_nothing_to_predict_is_refused(language_model: LanguageModel) -> None:
    with pytest.raises(InputError, match="expected at least one sentence"):
        evaluate(language_model, NumberedText(Marks()))


def test_the_figures_promised_are_there() -> None:
    promised = {
        "forward_perplexity",
        "backward_perplexity",
        "perplexity",
        "bits_per_byte",
        "tokens",
        "oov_rate",
    }
    assert promised <= Evaluation.__dataclass_fields__.keys()
