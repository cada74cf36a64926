"""What people ask about: a sentence, and which of its words are the predicates."""

import re
from collections.abc import Mapping, Set
from typing import Any

from elmokit.errors import InputError
from elmokit.tasks.srl.data import SrlExample
from elmokit.tasks.task import Tokenise

_MARKED = re.compile(r"\*([^\s*]+)\*")


def asked(question: Any, tokenise: Tokenise, likely: Set[str]) -> list[SrlExample]:
    """Make an example for each predicate of a sentence.

    A text or a list of tokens: the predicates are the words that are ``likely`` ones. A text with
    words between asterisks, ``The cat *chased* the mouse``: those words. A mapping of ``tokens``
    and ``pred``: the token at that place.
    """
    if isinstance(question, str):
        return _of_text(question, tokenise, likely)
    if isinstance(question, Mapping):
        if not {"tokens"} <= set(question) <= {"tokens", "pred"}:
            raise InputError(f"sentence: expected tokens and pred, found {dict(question)!r}")
        tokens = _checked(question["tokens"])
        if "pred" not in question:
            return _likely(tokens, likely)
        place = question["pred"]
        if type(place) is not int or not 0 <= place < len(tokens):
            raise InputError(f"pred: expected one of {len(tokens)} tokens, found {place!r}")
        return [SrlExample(tokens, place, None)]
    return _likely(_checked(question), likely)


def _of_text(text: str, tokenise: Tokenise, likely: Set[str]) -> list[SrlExample]:
    marks = list(_MARKED.finditer(text))
    tokens = tokenise(_MARKED.sub(r"\1", text))
    words = _checked([token.text for token in tokens])
    if not marks:
        return _likely(words, likely)
    places = []
    for number, mark in enumerate(marks):
        start = mark.start() - 2 * number  # without the asterisks before it
        places.append(next(i for i, token in enumerate(tokens) if token.end > start))
    return [SrlExample(words, place, None) for place in dict.fromkeys(places)]


def _likely(tokens: tuple[str, ...], likely: Set[str]) -> list[SrlExample]:
    return [
        SrlExample(tokens, place, None)
        for place, token in enumerate(tokens)
        if token.lower() in likely
    ]


def _checked(tokens: Any) -> tuple[str, ...]:
    is_list = isinstance(tokens, list | tuple)
    if not (is_list and tokens and all(isinstance(token, str) and token for token in tokens)):
        raise InputError(f"sentence: expected some text or tokens, found {tokens!r}")
    return tuple(tokens)
