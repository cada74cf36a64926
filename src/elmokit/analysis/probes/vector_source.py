"""Whatever gives a word a vector: the layers of a biLM, a list of static vectors, a transformer.

K representations of a token (for ELMo: layers), n tokens, w words in them, D size of a vector
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Vectors
from elmokit.embed.progress import track
from elmokit.errors import InputError


class VectorSource(Protocol):
    """What the probes look at."""

    @property
    def name(self) -> str:
        """What the source is called in tables."""

    @property
    def layers(self) -> tuple[int | None, ...]:
        """The layers it gives, K of them; (None,) where a token has one vector and that is all."""

    @property
    def dim(self) -> int:
        """Size D of a vector."""

    def vectors(self, sentences: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Give (K, n, D) for each sentence; a token with spaces is the mean of its words."""


class ElmoLayers:
    """Some layers of a biLM, all of them computed in one pass."""

    def __init__(
        self, elmo: Elmo, *, layers: Sequence[int] | None = None, progress: bool = False
    ) -> None:
        """``layers`` are counted from 0, the one before context; default: all.

        With ``progress`` a bar counts sentences where somebody watches.
        """
        count = elmo.layer_count
        for layer in layers or ():
            if not 0 <= layer < count:
                raise InputError(f"layer: this model has layers 0 to {count - 1}, found {layer}")
        self.name = str(elmo.metadata.get("name", "ELMo"))
        self.layers = tuple(range(count) if layers is None else dict.fromkeys(layers))
        self.dim = elmo.dim
        self._elmo = elmo
        self._progress = progress

    def vectors(self, sentences: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Give (K, n, D) for each sentence."""
        sentences = list(sentences)
        words = [words_of(tokens) for tokens in sentences]
        embedded = self._elmo.embed_iter(words, layers="all")
        if self._progress:
            embedded = track(embedded, "Embedding", total=len(words))
        chosen = list(self.layers)
        for tokens, found in zip(sentences, embedded, strict=True):
            yield token_means(found[chosen], word_counts(tokens))


def words_of(tokens: Iterable[str]) -> list[str]:
    """Cut tokens with spaces, as SemCor has for terms, into words."""
    return [word for token in tokens for word in token.split()]


def word_counts(tokens: Iterable[str]) -> npt.NDArray[np.intp]:
    """Count the words of each token."""
    return np.array([len(token.split()) for token in tokens], dtype=np.intp)  # (n,)


def token_means(vectors: Vectors, counts: npt.NDArray[np.intp]) -> Vectors:
    """Turn the vectors of words (K, w, D) into those of tokens (K, n, D)."""
    if (counts == 1).all():
        return vectors
    means: Vectors = np.add.reduceat(vectors, np.cumsum(counts) - counts, axis=1)  # (K, n, D)
    means /= counts[:, None].astype(np.float32)
    return means
