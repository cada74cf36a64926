"""What word2vec learns from: for every word of a sentence, the words around it."""

from collections.abc import Sequence
from typing import NamedTuple

from elmokit.errors import InputError


class Window(NamedTuple):
    """One word of a sentence with those around it.

    Skip-gram predicts each of the context from the centre, one sample each; CBOW predicts the
    centre from the mean of the context, one sample in all.
    """

    left: tuple[str, ...]
    centre: str
    right: tuple[str, ...]

    @property
    def context(self) -> tuple[str, ...]:
        """The words around the centre."""
        return self.left + self.right

    @property
    def skipgram(self) -> list[tuple[str, str]]:
        """The samples of skip-gram: centre and one word of its context."""
        return [(self.centre, word) for word in self.context]


def windows(tokens: Sequence[str], window: int = 2) -> list[Window]:
    """Give every word of a sentence with at most ``window`` words on each side.

    In training word2vec draws the width anew from 1 to ``window`` for every word, so that near
    words are seen more often; here it is always the full width.
    """
    if window < 1:
        raise InputError(f"window: expected a number of words above 0, found {window}")
    if len(tokens) < 2:
        raise InputError(f"tokens: expected a sentence of at least two words, found {len(tokens)}")
    words = tuple(tokens)
    return [
        Window(words[max(place - window, 0) : place], word, words[place + 1 : place + 1 + window])
        for place, word in enumerate(words)
    ]
