"""A sentence with a gap: how people write it, and what stands on its two sides."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.text.tokenise import Token

GAP = re.compile(r"_{3,}")
# Stands in the gap while the text is tokenised, so that what is around it is cut as always.
STAND_IN = "word"

TextWithGap = str | Sequence[str] | tuple[Sequence[str], int]


@dataclass(frozen=True)
class Gap:
    """The tokens on both sides of the place where a word is to be put."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    word: str | None = None
    """What stands there now, if anything does."""

    def filled(self, tokens: Sequence[str]) -> list[str]:
        """Give the sentence with ``tokens`` in the gap."""
        return [*self.left, *tokens, *self.right]


def find_gap(
    text: TextWithGap, *, tokenise: Callable[[str], list[Token]], word: str | None = None
) -> Gap:
    """Find the one gap of a text.

    A gap is written ``___``, three underscores or more, in a raw string or as one of a list of
    tokens. ``(tokens, index)`` names the token to replace by its place, ``word`` by what it is.
    """
    if isinstance(text, str):
        if word is None:
            return _gap_of_string(text, tokenise)
        tokens = [token.text for token in tokenise(text)]
    elif isinstance(text, tuple) and len(text) == 2 and isinstance(text[1], int):
        tokens = _checked_tokens(text[0])
        if word is not None:
            raise InputError(f"word: the place of the gap is given already, found {word!r}")
        if not 0 <= text[1] < len(tokens):
            raise InputError(
                f"text: expected the place of one of {len(tokens)} tokens, counted from 0, "
                f"found {text[1]}"
            )
        return _cut(tokens, text[1], word=tokens[text[1]])
    else:
        tokens = _checked_tokens(text)
    gaps = [index for index, token in enumerate(tokens) if GAP.fullmatch(token)]
    if word is None:
        _check_one(len(gaps), " ".join(tokens))
        return _cut(tokens, gaps[0])
    if gaps:
        raise InputError(f"word: the text has a gap already; leave out one of them, found {word!r}")
    places = [index for index, token in enumerate(tokens) if token == word]
    if len(places) != 1:
        raise InputError(
            f"word: expected a token that the text has once, found {word!r}, which it has "
            f"{len(places)} times; write ___ where the gap is"
        )
    return _cut(tokens, places[0], word=word)


def _gap_of_string(text: str, tokenise: Callable[[str], list[Token]]) -> Gap:
    found = list(GAP.finditer(text))
    _check_one(len(found), text)
    start, end = found[0].span()
    tokens = tokenise(text[:start] + STAND_IN + text[end:])
    for index, token in enumerate(tokens):
        if (token.start, token.end) == (start, start + len(STAND_IN)):
            return _cut([token.text for token in tokens], index)
    raise InputError(f"text: expected a gap ___ for a whole word, found part of one in {text!r}")


def _check_one(count: int, text: str) -> None:
    if count != 1:
        raise InputError(
            f"text: expected one gap, written ___ (three underscores), found {count} in {text!r}"
        )


def _checked_tokens(tokens: object) -> list[str]:
    if not isinstance(tokens, Sequence) or isinstance(tokens, str | bytes):
        raise InputError(f"text: expected a string or a list of tokens, found {tokens!r}")
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"text: expected tokens that are strings, found {token!r}")
    return list(tokens)


def _cut(tokens: Sequence[str], index: int, *, word: str | None = None) -> Gap:
    return Gap(tuple(tokens[:index]), tuple(tokens[index + 1 :]), word)
