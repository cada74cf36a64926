"""An n-gram model beside a biLM: the same text, the same tokens, the same vocabulary."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elmokit.baselines.ngram_evaluate import NgramEvaluation, evaluate_ngrams
from elmokit.baselines.ngram_model import NgramModel
from elmokit.errors import InputError
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.numbered_text import NumberedText
from elmokit.lm.score import score

PHRASES = (
    "strong tea",
    "powerful tea",
    "speech recognition",
    "speech wreck ignition",
    "Deep learning is amazing because",
    "Deep learning is awesome because",
)
"""Pairs that show what counting does and does not know; the last were never seen."""


@dataclass(frozen=True, kw_only=True)
class PhraseComparison:
    """One phrase as the beginning of a sentence, under both models."""

    phrase: str
    tokens: tuple[str, ...]
    unknown: tuple[str, ...]
    """Tokens outside the vocabulary; they count as the unknown mark."""
    ngram_log10: float
    """The base-10 logarithm of the probability of all tokens; the end mark is not counted."""
    bilm_log10: float
    """The same by the biLM's forward direction."""
    orders: tuple[int, ...]
    """For each token the length of the longest known n-gram that ends with it."""


@dataclass(frozen=True, kw_only=True)
class TextComparison:
    """A text under both models; the biLM's figures are of its forward direction."""

    ngram: NgramEvaluation
    bilm_perplexity: float
    """Its state carried within documents, as it reads text."""
    bilm_sentence_perplexity: float
    """Each sentence alone: it knows as little of what came before as the n-gram model."""

    @property
    def ratio(self) -> float:
        """The biLM's perplexity as a share of the n-gram model's."""
        return self.bilm_perplexity / self.ngram.perplexity

    @property
    def sentence_ratio(self) -> float:
        """The same with each sentence alone."""
        return self.bilm_sentence_perplexity / self.ngram.perplexity


def check_same_vocabulary(model: NgramModel, bilm: LanguageModel) -> None:
    """Refuse models that do not predict the same words: their perplexities mean nothing."""
    own, other = set(model.vocabulary.words), set(bilm.vocabulary.words)
    if own != other or model.vocabulary.marks != bilm.vocabulary.marks:
        raise InputError(
            f"the n-gram model predicts {len(own):,} words, the biLM {len(other):,}, "
            f"{len(own & other):,} of them the same; train the n-gram model with the biLM's "
            "vocabulary (vocabulary=, --vocabulary-of in the shell)"
        )


def compare_text(
    model: NgramModel,
    bilm: LanguageModel,
    text: NumberedText,
    *,
    advance: Callable[[int], object] | None = None,
) -> TextComparison:
    """Give the perplexity of a text under both; ``advance`` is told of tokens done, twice each."""
    check_same_vocabulary(model, bilm)
    found = []
    for documents in (text.documents, text.as_sentences()):
        losses = []
        for part in bilm.losses(text.words, documents, "forward", start="warm"):
            losses.append(float(part.values.sum()))
            if advance is not None:
                advance(len(part.values))
        found.append(math.exp(math.fsum(losses) / text.tokens))
    return TextComparison(
        ngram=evaluate_ngrams(model, text),
        bilm_perplexity=found[0],
        bilm_sentence_perplexity=found[1],
    )


def compare_phrases(
    model: NgramModel,
    bilm: LanguageModel,
    phrases: Sequence[str],
    *,
    tokenise: Callable[[str], list[str]],
) -> list[PhraseComparison]:
    """Give how likely both find phrases at the beginning of a sentence."""
    check_same_vocabulary(model, bilm)
    tokens = [tokenise(phrase) for phrase in phrases]
    for phrase, cut in zip(phrases, tokens, strict=True):
        if not cut:
            raise InputError(f"phrases: expected at least one word, found {phrase!r}")
    scores = score(bilm, tokens, direction="forward") if tokens else []
    compared = []
    for phrase, by_bilm, by_ngrams in zip(phrases, scores, model.score(tokens), strict=True):
        assert by_bilm.forward is not None
        words = zip(by_bilm.tokens, by_bilm.unknown, strict=True)
        compared.append(
            PhraseComparison(
                phrase=phrase,
                tokens=by_bilm.tokens,
                unknown=tuple(word for word, unknown in words if unknown),
                ngram_log10=float(by_ngrams.log_probabilities[:-1].sum()) / math.log(10),
                bilm_log10=math.fsum(by_bilm.forward[:-1]) / math.log(10),
                orders=tuple(by_ngrams.orders[:-1].tolist()),
            )
        )
    return compared
