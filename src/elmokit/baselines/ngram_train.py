"""From a corpus to an n-gram model."""

from collections.abc import Sequence

import numpy as np

from elmokit.baselines.corpus_text import opened_corpus, stream_pieces, train_split
from elmokit.baselines.ngram_counts import Places
from elmokit.baselines.ngram_model import NgramModel
from elmokit.corpus.layout import BEGIN, UNKNOWN
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.corpus.sources import PathLike
from elmokit.errors import InputError
from elmokit.lm.assemble import marked_words
from elmokit.text.vocabulary import Vocabulary

DEFAULT_ORDER = 5
DEFAULT_VOCABULARY_SIZE = 100_000


def train_ngrams(
    corpus: Sequence[PathLike],
    *,
    order: int = DEFAULT_ORDER,
    vocabulary: Vocabulary | None = None,
    vocabulary_size: int = DEFAULT_VOCABULARY_SIZE,
    tokeniser: str = "words",
    field: str | None = None,
) -> NgramModel:
    """Estimate a model by modified Kneser-Ney from texts or from a prepared corpus.

    The words are those of ``vocabulary``, such as a biLM's, or else the ``vocabulary_size`` most
    frequent ones, three marks counted; all others count as the unknown mark.
    """
    if vocabulary_size <= UNKNOWN + 1:
        raise InputError(f"vocabulary_size: expected more than 3 marks, found {vocabulary_size}")
    with opened_corpus(corpus, tokeniser=tokeniser, field=field) as prepared:
        if prepared.tokeniser != tokeniser:
            raise InputError(
                f"tokeniser: {prepared.folder} was prepared with {prepared.tokeniser!r}, "
                f"expected {tokeniser!r}"
            )
        words = vocabulary or prepared.vocabulary(min(vocabulary_size, prepared.type_count))
        items = numbered_items(prepared, words)
        return NgramModel.from_items(items, words, order=order, tokeniser=prepared.tokeniser)


def numbered_items(corpus: PreparedCorpus, vocabulary: Vocabulary) -> Places:
    """Give a text as ids of ``vocabulary``, every sentence with both of its marks."""
    marks = vocabulary.marks
    missing = vocabulary.missing_marks()
    if missing:
        raise InputError(f"vocabulary: lacks the marks {' '.join(missing)}")
    number_of = vocabulary.ids(marked_words(corpus, marks)).astype(np.int32)
    end = vocabulary.ids([marks.end]).astype(np.int32)
    parts: list[Places] = []
    for piece in stream_pieces(train_split(corpus)):
        # The end mark is not in the stream: it stands before every begin mark but the first.
        parts.append(np.insert(number_of[piece], np.flatnonzero(piece == BEGIN), end[0]))
    return np.concatenate([parts[0][1:], *parts[1:], end])
