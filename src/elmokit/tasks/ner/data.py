"""Sentences with named entities: CoNLL columns or JSON lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmokit.errors import InputError
from elmokit.tasks.blocks.bio import Span, spans_of
from elmokit.text.records import problem, read_lines, read_records, tokens_field

DOCUMENT_START = "-DOCSTART-"


@dataclass(frozen=True)
class NerExample:
    """A sentence; without entities where they are to be found."""

    tokens: tuple[str, ...]
    spans: tuple[Span, ...] | None
    """Label, first and last token of each entity."""


def read_ner(file: Path) -> list[NerExample]:
    """Read sentences.

    Either JSON lines with ``tokens`` and ``tags``, or columns as CoNLL-2003 has them: a token a
    line, its tag in the last column, an empty line after each sentence. Tags are BIO, IOB1, IO or
    IOBES.
    """
    first = next((line for _, line in read_lines(file) if line.strip()), "")
    pairs = _records(file) if first.lstrip().startswith("{") else _columns(file)
    examples = []
    for number, tokens, tags in pairs:
        try:
            examples.append(NerExample(tokens, tuple(spans_of(tags))))
        except InputError as error:
            raise problem(file, number, str(error)) from error
    if not examples:
        raise problem(file, 1, "expected sentences with tags, found none in the file")
    return examples


Tagged = tuple[int, tuple[str, ...], tuple[str, ...]]


def _records(file: Path) -> Iterator[Tagged]:
    for number, record in read_records(file):
        tokens = tokens_field(file, number, record, "tokens")
        tags = tokens_field(file, number, record, "tags")
        if len(tags) != len(tokens):
            raise problem(
                file, number, f"expected a tag for each of {len(tokens)} tokens, found {len(tags)}"
            )
        yield number, tokens, tags


def _columns(file: Path) -> Iterator[Tagged]:
    tokens: list[str] = []
    tags: list[str] = []
    number = 0
    for number, line in read_lines(file):
        fields = line.split()
        if fields and fields[0] == DOCUMENT_START:
            continue
        if not fields:
            if tokens:
                yield number - len(tokens), tuple(tokens), tuple(tags)
                tokens, tags = [], []
            continue
        if len(fields) < 2:
            raise problem(file, number, f"expected a token and its tag, found {line!r}")
        tokens.append(fields[0])
        tags.append(fields[-1])
    if tokens:
        yield number - len(tokens) + 1, tuple(tokens), tuple(tags)
