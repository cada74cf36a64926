"""A sentence with one word marked: how people write it, and where the word is."""

import re
from collections.abc import Callable
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.text.tokenise import Token

MARK = re.compile(r"\*(?=\S)([^*]*[^*\s])\*")


class MarkedWord(NamedTuple):
    """A word and the sentence that it stands in."""

    sentence: str
    """The text without the marks."""
    tokens: list[str]
    """Its tokens."""
    position: int
    """Number of the word among them."""

    @property
    def word(self) -> str:
        """The word itself."""
        return self.tokens[self.position]


def find_marked_word(text: str, tokenise: Callable[[str], list[Token]]) -> MarkedWord:
    """Find the word that is written ``*so*`` in a sentence."""
    if not isinstance(text, str):
        raise InputError(f"text: expected a sentence with a *marked* word, found {text!r}")
    marks = list(MARK.finditer(text))
    if len(marks) != 1:
        raise InputError(
            f"text: expected one word between asterisks, as in 'a *play* at the theatre', found "
            f"{len(marks)} in {text!r}"
        )
    (mark,) = marks
    word = mark[1]
    sentence = text[: mark.start()] + word + text[mark.end() :]
    place = (mark.start(), mark.start() + len(word))
    tokens = tokenise(sentence)
    for position, token in enumerate(tokens):
        if (token.start, token.end) == place:
            return MarkedWord(sentence, [token.text for token in tokens], position)
    inside = [token.text for token in tokens if token.start < place[1] and token.end > place[0]]
    raise InputError(
        f"text: expected one whole token between asterisks, found {word!r}, where the tokens are "
        f"{', '.join(map(repr, inside))}"
    )


def with_mark(sentence: str, start: int, end: int) -> str:
    """Write asterisks around the characters from ``start`` to ``end``."""
    return f"{sentence[:start]}*{sentence[start:end]}*{sentence[end:]}"
