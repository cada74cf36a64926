"""word2vec and fastText, trained by gensim."""

from typing import Literal

from elmokit.baselines.corpus_text import Sentences, train_split, word_counts
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.corpus.layout import MARKS
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.errors import InputError, MissingExtraError

GensimMethod = Literal["skipgram", "cbow", "fasttext"]


def train_word2vec(
    corpus: PreparedCorpus,
    *,
    method: GensimMethod,
    dim: int,
    window: int,
    epochs: int,
    min_count: int,
    seed: int,
    workers: int = 1,
) -> StaticVectors:
    """Learn vectors of the words that occur ``min_count`` times.

    fastText is skip-gram over character n-grams of 3 to 6; what is kept are the vectors of whole
    words, n-grams added, so that words of the corpus alone have one. With one worker the same seed
    gives the same vectors.
    """
    try:
        from gensim.models import FastText, Word2Vec
    except ImportError as error:
        raise MissingExtraError("gensim", "static", f"training by {method}") from error
    train_split(corpus)
    if not (word_counts(corpus)[len(MARKS) :] >= min_count).any():
        raise InputError(f"min_count: no word of the corpus occurs {min_count} times")
    make = FastText if method == "fasttext" else Word2Vec
    model = make(
        sentences=Sentences(corpus),
        vector_size=dim,
        window=window,
        min_count=min_count,
        sg=0 if method == "cbow" else 1,
        epochs=epochs,
        seed=seed,
        workers=workers,
    )
    return StaticVectors(model.wv.index_to_key, model.wv.vectors)
