"""How well an n-gram model predicts a text, counted as `elmokit.lm.evaluate` counts.

T items of the text
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elmokit.baselines.ngram_counts import Places
from elmokit.baselines.ngram_model import NgramModel
from elmokit.errors import InputError
from elmokit.lm.numbered_text import NumberedText

_WORDS_AT_ONCE = 2**20


@dataclass(frozen=True, kw_only=True)
class NgramEvaluation:
    """The figures of one text; each sentence is predicted alone, from its begin to its end."""

    documents: int
    """Stretches of text between blank lines."""
    sentences: int
    words: int
    """Words, without marks."""
    tokens: int
    """What is predicted: every word and the mark at the end of every sentence."""
    unknown_words: int
    """Words outside the vocabulary; they are predicted as the unknown mark."""
    oov_rate: float
    """``unknown_words / words``"""
    bytes: int
    """Size of the sentences in UTF-8, one line end each."""
    perplexity: float
    """``exp`` of the mean loss of all tokens."""
    bits_per_word: float
    """The logarithm of the perplexity to base 2; marks count as words."""
    bits_per_byte: float
    """All the bits over ``bytes``. Spelling an unknown word out is not paid for."""
    found_orders: tuple[float, ...]
    """Share of the tokens whose longest known n-gram has length 1, 2, and so on."""


def evaluate_ngrams(model: NgramModel, text: NumberedText) -> NgramEvaluation:
    """Predict every word and end mark of a text."""
    vocabulary = model.vocabulary
    number_of = vocabulary.ids(text.words).astype(np.int32)
    unknown_id = int(vocabulary.ids([vocabulary.marks.unknown])[0])
    if not text.documents:
        raise InputError("text: expected at least one sentence, found none")
    loss = []
    orders = np.zeros(model.order + 1, dtype=np.int64)
    unknown_words = 0
    for items in _pieces(text, number_of):
        found = model.look_up(items)
        loss.append(-float(found.log_probabilities.sum()))
        orders += np.bincount(found.orders, minlength=len(orders))
        unknown_words += int((items == unknown_id).sum())
    tokens = text.tokens
    words = sum(len(document.words) for document in text.documents)
    bits = math.fsum(loss) / math.log(2)
    return NgramEvaluation(
        documents=len(text.documents),
        sentences=tokens - words,
        words=words,
        tokens=tokens,
        unknown_words=unknown_words,
        oov_rate=unknown_words / words if words else 0.0,
        bytes=text.bytes,
        perplexity=math.exp(math.fsum(loss) / tokens),
        bits_per_word=bits / tokens,
        bits_per_byte=bits / text.bytes if text.bytes else 0.0,
        found_orders=tuple((orders[1:] / tokens).tolist()),
    )


def _pieces(text: NumberedText, number_of: Places) -> Iterator[Places]:
    """Give whole documents as ids with both marks of every sentence, many words at once."""
    waiting: list[Places] = []
    size = 0
    for document in text.documents:
        read, predicted = document.stream("forward")
        # What is read are the begin marks and words; the end marks are what is predicted last.
        ends = np.cumsum(document.lengths + 1)
        waiting.append(np.insert(number_of[read], ends, number_of[predicted[ends - 1]]))
        size += len(waiting[-1])
        if size >= _WORDS_AT_ONCE:
            yield np.concatenate(waiting)
            waiting, size = [], 0
    if waiting:
        yield np.concatenate(waiting)
