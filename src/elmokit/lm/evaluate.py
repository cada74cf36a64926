"""How well a model predicts a text: exact, over the whole vocabulary, nothing left out."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from elmokit.errors import InputError
from elmokit.lm.language_model import DEFAULT_BATCH_TOKENS, LanguageModel, LanguageStart
from elmokit.lm.numbered_text import DIRECTIONS, NumberedText

CarriedOver = Literal["document", "carry", "sentence"]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The figures of one text; ``perplexity`` and the like are of both directions together."""

    state: str
    """Over what the LSTMs' state was carried."""
    start: str
    """What they remembered at the start of that."""
    documents: int
    """Stretches of text between blank lines."""
    sentences: int
    words: int
    """Words, without marks."""
    tokens: int
    """What each direction predicts: every word and one mark a sentence."""
    unknown_words: int
    """Words outside the vocabulary; they are predicted as the unknown mark."""
    oov_rate: float
    """``unknown_words / words``"""
    bytes: int
    """Size of the sentences in UTF-8, one line end each."""
    forward_perplexity: float
    backward_perplexity: float
    perplexity: float
    """``exp`` of the mean loss of all tokens in both directions."""
    forward_bits_per_word: float
    """The logarithm of the perplexity to base 2; marks count as words."""
    backward_bits_per_word: float
    bits_per_word: float
    forward_bits_per_byte: float
    """All the bits over ``bytes``. Spelling an unknown word out is not paid for."""
    backward_bits_per_byte: float
    bits_per_byte: float


def checked_state(state: str) -> CarriedOver:
    """Refuse an unknown way to carry the state by name."""
    if state not in get_args(CarriedOver):
        raise InputError(
            f"state: expected one of {', '.join(get_args(CarriedOver))}, found {state!r}"
        )
    return cast(CarriedOver, state)


def evaluate(
    model: LanguageModel,
    text: NumberedText,
    *,
    state: CarriedOver = "document",
    start: LanguageStart = "warm",
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
    advance: Callable[[int], object] | None = None,
) -> Evaluation:
    """Predict every word and mark of a text in both directions.

    The state is carried within a document, over the whole text (``"carry"``) or within a
    sentence only. ``advance`` is told how many tokens a direction has done.
    """
    checked_state(state)
    documents = {
        "document": lambda: text.documents,
        "carry": text.as_one_document,
        "sentence": text.as_sentences,
    }[state]()
    tokens = sum(document.tokens for document in documents)
    if tokens == 0:
        raise InputError("text: expected at least one sentence, found none")
    losses: dict[str, float] = {}
    for direction in DIRECTIONS:
        sums = []
        for part in model.losses(
            text.words, documents, direction, start=start, batch_tokens=batch_tokens
        ):
            sums.append(float(part.values.sum()))
            if advance is not None:
                advance(len(part.values))
        losses[direction] = math.fsum(sums)
    losses["both"] = (losses["forward"] + losses["backward"]) / 2
    bits = {direction: loss / math.log(2) for direction, loss in losses.items()}
    unknown = model.is_unknown(text.words)
    words = sum(len(document.words) for document in documents)
    unknown_words = sum(int(unknown[document.words].sum()) for document in documents)
    perplexities = {direction: float(np.exp(loss / tokens)) for direction, loss in losses.items()}
    return Evaluation(
        state=state,
        start=start,
        documents=len(text.documents),
        sentences=sum(len(document.lengths) for document in documents),
        words=words,
        tokens=tokens,
        unknown_words=unknown_words,
        oov_rate=unknown_words / words if words else 0.0,
        bytes=text.bytes,
        forward_perplexity=perplexities["forward"],
        backward_perplexity=perplexities["backward"],
        perplexity=perplexities["both"],
        forward_bits_per_word=bits["forward"] / tokens,
        backward_bits_per_word=bits["backward"] / tokens,
        bits_per_word=bits["both"] / tokens,
        forward_bits_per_byte=bits["forward"] / text.bytes,
        backward_bits_per_byte=bits["backward"] / text.bytes,
        bits_per_byte=bits["both"] / text.bytes,
    )
