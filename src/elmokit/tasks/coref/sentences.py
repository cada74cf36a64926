"""A document that a user types or sends, cut into sentences of tokens."""

from collections.abc import Iterator, Sequence
from typing import Any

from elmokit.errors import InputError
from elmokit.tasks.task import Tokenise

_ENDS = frozenset({".", "!", "?", "...", "....", "…", "。", "！", "？", "।", "؟"})
_CLOSES = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "」", "』", "-RRB-"})


def sentences_of(text: Any, tokenise: Tokenise) -> tuple[tuple[str, ...], ...]:
    """Give the sentences of a text, of a list of sentences, or of a list of lists of tokens.

    In a text a sentence ends with its line, and after a full stop, question or exclamation mark
    and the quotes and brackets that close behind it.
    """
    if isinstance(text, str):
        sentences = [
            sentence
            for line in text.splitlines()
            for sentence in _cut([token.text for token in tokenise(line)])
        ]
    elif isinstance(text, list | tuple):
        sentences = [_sentence(place, item, tokenise) for place, item in enumerate(text)]
    else:
        raise InputError(f"expected a text, sentences or lists of tokens, found {text!r:.80}")
    if not any(sentences):
        raise InputError(f"expected a document with at least one word, found {text!r:.80}")
    return tuple(sentence for sentence in sentences if sentence)


def _sentence(place: int, item: Any, tokenise: Tokenise) -> tuple[str, ...]:
    if isinstance(item, str):
        return tuple(token.text for token in tokenise(item))
    if isinstance(item, list | tuple) and all(isinstance(token, str) and token for token in item):
        return tuple(item)
    raise InputError(f"sentence {place}: expected a text or a list of tokens, found {item!r:.80}")


def _cut(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    first, has_ended = 0, False
    for place, token in enumerate(tokens):
        if has_ended and token not in _ENDS | _CLOSES:
            yield tuple(tokens[first:place])
            first, has_ended = place, False
        has_ended = has_ended or token in _ENDS
    if first < len(tokens):
        yield tuple(tokens[first:])
