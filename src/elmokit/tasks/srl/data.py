"""Predicates of sentences and the spans that play a role with them, in JSON lines."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError, InputError
from elmokit.tasks.blocks.bio import Span, tags_of
from elmokit.text.records import problem, read_records, span_of, split_choice, tokens_field

VERBS = "verbs"
"""``FILE#verbs`` is a file without the frames of nouns and adjectives."""
_VERB_TAGS = ("VERB", "AUX")


@dataclass(frozen=True)
class SrlExample:
    """One predicate of a sentence; without spans where they are to be found."""

    tokens: tuple[str, ...]
    """Examples of one sentence share them."""
    predicate: int
    spans: tuple[Span, ...] | None
    """Label, first and last token of each role, and of the predicate itself (``V``)."""


def read_srl(file: Path) -> list[SrlExample]:
    """Read an example for each frame of JSON lines with ``tokens``, ``frames`` and ``upos``.

    A frame is an object with ``pred``, the predicate's place, and ``spans``: lists of a label, the
    first and the last token, which may not overlap. ``upos`` is needed for ``FILE#verbs`` alone.
    """
    place, choice = split_choice(file)
    if choice not in (None, VERBS):
        raise InputError(f"{file}: expected {place.name} or {place.name}#{VERBS}")
    examples = []
    for number, record in read_records(place):
        tokens = tokens_field(place, number, record, "tokens")
        is_wanted = [True] * len(tokens)
        if choice == VERBS:
            tags = tokens_field(place, number, record, "upos")
            if len(tags) != len(tokens):
                raise problem(
                    place, number, f"upos: expected {len(tokens)} tags, found {len(tags)}"
                )
            is_wanted = [tag in _VERB_TAGS for tag in tags]
        frames = _frames(place, number, record, tokens)
        examples += [example for example in frames if is_wanted[example.predicate]]
    if not examples:
        raise FormatError(file, "holds no frame", expected="a predicate and its spans")
    return examples


def likely_predicates(examples: Iterable[SrlExample]) -> list[str]:
    """Give the word forms, lower-cased, that are predicates more often than not."""
    predicates: dict[tuple[str, ...], set[int]] = {}
    for example in examples:
        predicates.setdefault(example.tokens, set()).add(example.predicate)
    more: Counter[str] = Counter()
    for tokens, places in predicates.items():
        for place, token in enumerate(tokens):
            more[token.lower()] += 1 if place in places else -1
    return sorted(word for word, count in more.items() if count > 0)


def _frames(
    file: Path, number: int, record: dict[str, Any], tokens: tuple[str, ...]
) -> Iterator[SrlExample]:
    frames = record.get("frames")
    if not isinstance(frames, list):
        raise problem(file, number, f"key 'frames': expected a list, found {repr(frames)[:80]}")
    for frame in frames:
        if not isinstance(frame, dict) or not isinstance(frame.get("spans"), list):
            raise problem(file, number, f"frame: expected pred and spans, found {repr(frame)[:80]}")
        predicate = frame.get("pred")
        if type(predicate) is not int or not 0 <= predicate < len(tokens):
            raise problem(
                file, number, f"pred: expected one of {len(tokens)} tokens, found {predicate!r}"
            )
        spans = [_span(file, number, span, len(tokens)) for span in frame["spans"]]
        try:
            tags_of(spans, len(tokens))
        except InputError as error:
            raise problem(file, number, f"frame of token {predicate}: {error}") from error
        yield SrlExample(tokens, predicate, tuple(spans))


def _span(file: Path, number: int, value: Any, length: int) -> Span:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        raise problem(
            file, number, f"span: expected [label, first, last], found {repr(value)[:80]}"
        )
    if not value[0]:
        raise problem(file, number, f"span: expected a label, found {repr(value)[:80]}")
    return value[0], *span_of(file, number, value[1:], length, f"span {value[0]}")
