"""Sentences some of whose words have senses, from JSON lines."""

from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import FormatError
from elmokit.text.records import (
    problem,
    read_records,
    short,
    text_field,
    tokens_field,
)


class Lemma(NamedTuple):
    """What a dictionary lists senses of."""

    word: str
    part_of_speech: str


class SenseInstance(NamedTuple):
    """A word of a sentence that has a sense."""

    place: int
    """Which token it is, counted from 0."""
    lemma: Lemma
    keys: tuple[str, ...]
    """Names of its senses, mostly one; in a test each of them is right."""


class SenseSentence(NamedTuple):
    """Tokens, and the words among them that have senses."""

    tokens: tuple[str, ...]
    instances: tuple[SenseInstance, ...]


def read_senses(file: Path) -> list[SenseSentence]:
    """Read a file, packed or not, with one object a line: ``tokens`` and ``instances``.

    An instance is ``{"i": token, "lemma": "bank", "pos": "NOUN", "keys": ["bank%1:17:01::"]}``.
    A token may hold spaces: a term of several words. Sentences without instances are left out.
    """
    sentences = []
    for number, record in read_records(file):
        tokens = tokens_field(file, number, record, "tokens")
        found = record.get("instances")
        if not isinstance(found, list):
            raise problem(
                file, number, f"key 'instances': expected a list of objects, found {short(found)}"
            )
        if found:
            instances = (_instance(file, number, item, len(tokens)) for item in found)
            sentences.append(SenseSentence(tokens, tuple(instances)))
    if not sentences:
        raise FormatError(file, "holds no word with a sense")
    return sentences


def _instance(file: Path, number: int, item: Any, tokens: int) -> SenseInstance:
    if not isinstance(item, dict):
        raise problem(file, number, f"instances: expected objects, found {short(item)}")
    place = item.get("i")
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < tokens:
        raise problem(file, number, f"instances: 'i' from 0 to {tokens - 1}, found {place!r}")
    lemma = Lemma(text_field(file, number, item, "lemma"), text_field(file, number, item, "pos"))
    return SenseInstance(place, lemma, tokens_field(file, number, item, "keys", what="strings"))
