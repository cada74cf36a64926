"""Sentences with a tag for each token, from CoNLL-U or JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from elmokit.errors import FormatError, InputError
from elmokit.text.records import problem, read_lines, record_of, short, tokens_field

TagField = Literal["upos", "xpos"]
COLUMNS = {"upos": 3, "xpos": 4}
"""Where CoNLL-U has a field, counted from 0."""
CONLLU_COLUMNS = 10
NO_TAG = "_"


class TaggedSentence(NamedTuple):
    """Tokens and their tags."""

    tokens: tuple[str, ...]
    tags: tuple[str | None, ...]
    """None where the file has ``_``: such a token is read as context and not counted."""


def checked_tag_field(name: str) -> TagField:
    """Give the name of a field that can be probed."""
    if name == "upos":
        return "upos"
    if name == "xpos":
        return "xpos"
    raise InputError(f"field: expected 'upos' or 'xpos', found {name!r}")


def read_tagged(file: Path, *, field: TagField = "upos") -> list[TaggedSentence]:
    """Read a file, packed or not, as CoNLL-U, or as JSON lines if it begins with ``{``.

    A JSON object has ``tokens`` and, under the field's name, as many tags.
    """
    lines = read_lines(file)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise FormatError(file, "holds no sentence")
    numbered = _chained(first, lines)
    read = _records if first[1].lstrip().startswith("{") else _conllu
    sentences = list(read(file, numbered, field))
    if not sentences:
        raise FormatError(file, "holds no sentence")
    if all(tag is None for sentence in sentences for tag in sentence.tags):
        raise FormatError(file, f"has no tag in the field {field!r}, all are {NO_TAG!r}")
    return sentences


def _chained(
    first: tuple[int, str], others: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    yield first
    yield from others


def _records(
    file: Path, lines: Iterator[tuple[int, str]], field: TagField
) -> Iterator[TaggedSentence]:
    for number, line in lines:
        if not line.strip():
            continue
        record = record_of(file, number, line)
        tokens = tokens_field(file, number, record, "tokens")
        tags = tokens_field(file, number, record, field, what="strings")
        if len(tags) != len(tokens):
            raise problem(
                file, number, f"expected {len(tokens)} tags in {field!r}, found {len(tags)}"
            )
        yield TaggedSentence(tokens, tuple(map(_tag, tags)))


def _conllu(
    file: Path, lines: Iterator[tuple[int, str]], field: TagField
) -> Iterator[TaggedSentence]:
    tokens: list[str] = []
    tags: list[str | None] = []
    for number, line in lines:
        if not line.strip():
            if tokens:
                yield TaggedSentence(tuple(tokens), tuple(tags))
            tokens, tags = [], []
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != CONLLU_COLUMNS:
                raise problem(
                    file,
                    number,
                    f"expected {CONLLU_COLUMNS} columns of CoNLL-U with tabs between them, "
                    f"or JSON lines, found {len(columns)} in {short(line)}",
                )
            # Ranges as 1-2 and empty nodes as 8.1 stand for no word of their own.
            if columns[0].isdecimal():
                if not columns[1].strip():
                    raise problem(file, number, f"expected a word, found {columns[1]!r}")
                tokens.append(columns[1])
                tags.append(_tag(columns[COLUMNS[field]]))
            elif not columns[0].replace("-", "").replace(".", "").isdecimal():
                raise problem(file, number, f"expected a word's number, found {columns[0]!r}")
    if tokens:
        yield TaggedSentence(tuple(tokens), tuple(tags))


def _tag(text: str) -> str | None:
    return None if text in (NO_TAG, "") else text
