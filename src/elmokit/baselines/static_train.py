"""From a corpus to static vectors, by any of four methods."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast, get_args

from elmokit.baselines.corpus_text import opened_corpus
from elmokit.baselines.glove import train_glove
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.baselines.word2vec import train_word2vec
from elmokit.corpus.sources import PathLike
from elmokit.errors import InputError

Method = Literal["skipgram", "cbow", "fasttext", "glove"]


class _Usual(NamedTuple):
    window: int
    epochs: int


# As in the papers and their programs.
_USUAL = {
    "skipgram": _Usual(5, 5),
    "cbow": _Usual(5, 5),
    "fasttext": _Usual(5, 5),
    "glove": _Usual(10, 25),
}


def checked_method(method: str) -> Method:
    """Refuse an unknown method by name."""
    if method not in get_args(Method):
        raise InputError(f"method: expected one of {', '.join(get_args(Method))}, found {method!r}")
    return cast(Method, method)


def train_static(
    corpus: Sequence[PathLike],
    *,
    method: Method = "skipgram",
    dim: int = 100,
    window: int | None = None,
    epochs: int | None = None,
    min_count: int = 5,
    seed: int = 0,
    tokeniser: str = "words",
    field: str | None = None,
) -> StaticVectors:
    """Learn static vectors from texts or from a prepared corpus.

    Words that occur less than ``min_count`` times are left out before windows are cut. A window of
    5 words on each side and 5 epochs are usual, for GloVe 10 and 25.
    """
    checked_method(method)
    window = _USUAL[method].window if window is None else window
    epochs = _USUAL[method].epochs if epochs is None else epochs
    for name, value in (
        ("dim", dim), ("window", window), ("epochs", epochs), ("min_count", min_count)
    ):  # fmt: skip
        if value < 1:
            raise InputError(f"{name}: expected a whole number above 0, found {value}")
    with opened_corpus(corpus, tokeniser=tokeniser, field=field) as prepared:
        if method == "glove":
            return train_glove(
                prepared, dim=dim, window=window, epochs=epochs, min_count=min_count, seed=seed
            )
        return train_word2vec(
            prepared,
            method=method,
            dim=dim,
            window=window,
            epochs=epochs,
            min_count=min_count,
            seed=seed,
        )
