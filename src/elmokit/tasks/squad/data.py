"""Questions on texts whose answers are pieces of the text.

Three formats, told apart by what a file holds. JSON lines, one text a line:

    {"context": "..", "qas": [{"question": "..", "answers": [{"text": "..", "start": 17}]}]}
    {"tokens": ["..", ".."], "qas": [{"question": "..", "answers": [[3, 5], [4, 5]]}]}

``start`` counts characters of the context, ``[3, 5]`` are the first and the last token. A question
may have an ``id``, a line a ``split``: ``data.jsonl#train`` reads the lines of one split. And the
official JSON file of SQuAD 1.1, as it is.

An answer that does not stand where its ``start`` says, or without a ``start``, counts in scoring
but is no target in training.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError
from elmokit.text.records import (
    Place,
    problem,
    read_lines,
    read_records,
    span_of,
    split_choice,
    string_field,
    tokens_field,
)
from elmokit.text.tokenise import Token, WordTokeniser

Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A text that questions are about; all its questions share one object."""

    text: str
    """The text as it was given, or tokens joined by spaces."""
    tokens: tuple[str, ...]
    """Its tokens."""
    starts: tuple[int, ...]
    """The character at which each token starts."""

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The character after each token."""
        return tuple(
            start + len(token) for start, token in zip(self.starts, self.tokens, strict=True)
        )

    def tokens_at(self, start: int, end: int) -> Span | None:
        """Give the first and the last token that touch characters ``start`` up to ``end``."""
        first = bisect_right(self.ends, start)
        last = bisect_left(self.starts, end) - 1
        return (first, last) if start < end and first <= last else None

    def characters_at(self, first: int, last: int) -> Span:
        """Give the first character of tokens and the one after them."""
        return self.starts[first], self.ends[last]

    def text_at(self, first: int, last: int) -> str:
        """Give the text from one token to another, with what stands between them."""
        start, end = self.characters_at(first, last)
        return self.text[start:end]


@dataclass(frozen=True)
class Question:
    """A question on a passage."""

    passage: Passage
    """What it is about."""
    text: str
    """The question as it was given."""
    tokens: tuple[str, ...]
    """Its tokens."""
    answers: tuple[str, ...] = ()
    """Answers by all annotators; none: not known."""
    spans: tuple[Span, ...] = ()
    """First and last tokens of those answers that were found in the passage, each once."""
    id: str | None = None
    """What the data set calls it."""


def passage_of(text: str, tokens: Sequence[Token]) -> Passage:
    """Make a passage of a text and its tokens."""
    return Passage(text, tuple(t.text for t in tokens), tuple(t.start for t in tokens))


def passage_of_tokens(tokens: Sequence[str]) -> Passage:
    """Make a passage of tokens, with single spaces between them."""
    starts = [0]
    for token in tokens[:-1]:
        starts.append(starts[-1] + len(token) + 1)
    return Passage(" ".join(tokens), tuple(tokens), tuple(starts))


def read_questions(file: Path) -> list[Question]:
    """Read all questions of a file, or of one split of it (``file#split``)."""
    file, split = split_choice(file)
    questions: list[Question] = []
    splits: dict[str, None] = {}
    for place, record in _records(file):
        if split is not None:
            found = string_field(file, place, record, "split")
            splits[found] = None
            if found != split:
                continue
        questions += _questions_of(file, place, record)
    if split is not None and split not in splits:
        known = ", ".join(map(repr, splits))
        raise FormatError(file, f"has no split {split!r}: found {known}")
    if not questions:
        raise FormatError(file, "holds no questions")
    return questions


def _records(file: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Give each text with its questions, and where it stands in the file."""
    official = _official(file)
    if official is None:
        yield from read_records(file)
        return
    for a, article in enumerate(_objects(file, "the file", official, "data"), start=1):
        paragraphs = _objects(file, f"article {a}", article, "paragraphs")
        for p, paragraph in enumerate(paragraphs, start=1):
            yield f"article {a}, paragraph {p}", paragraph


def _official(file: Path) -> dict[str, Any] | None:
    """Give the content of SQuAD's own format; None: the file is something else."""
    try:
        whole = json.loads("\n".join(line for _, line in read_lines(file)))
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) and "data" in whole else None


def _questions_of(file: Path, place: Place, record: dict[str, Any]) -> list[Question]:
    tokenised = "tokens" in record
    if tokenised:
        passage = passage_of_tokens(tokens_field(file, place, record, "tokens"))
    else:
        context = string_field(file, place, record, "context")
        passage = passage_of(context, WordTokeniser()(context))
    if not passage.tokens:
        raise problem(file, place, "key 'context': expected a text, found no word")
    where = f"line {place}" if isinstance(place, int) else place
    return [
        _question(file, f"{where}, question {number}", asked, passage, tokenised=tokenised)
        for number, asked in enumerate(_objects(file, place, record, "qas"), start=1)
    ]


def _question(
    file: Path, place: Place, asked: dict[str, Any], passage: Passage, *, tokenised: bool
) -> Question:
    text = string_field(file, place, asked, "question")
    tokens = tuple(WordTokeniser().words(text))
    if not tokens:
        raise problem(file, place, f"key 'question': expected words, found {text!r}")
    given = asked.get("answers")
    if not isinstance(given, list) or not given:
        raise problem(
            file, place, f"key 'answers': expected a list of one answer or more, found {given!r}"
        )
    read = _token_answer if tokenised else _text_answer
    found = [read(file, place, answer, passage) for answer in given]
    name = asked.get("id")
    if not isinstance(name, str | None):
        raise problem(file, place, f"key 'id': expected a string, found {name!r}")
    return Question(
        passage,
        text,
        tokens,
        answers=tuple(answer for answer, _ in found),
        spans=tuple(sorted({span for _, span in found if span is not None})),
        id=name,
    )


def _token_answer(file: Path, place: Place, answer: Any, passage: Passage) -> tuple[str, Span]:
    first, last = span_of(file, place, answer, len(passage.tokens), "answers")
    return passage.text_at(first, last), (first, last)


def _text_answer(
    file: Path, place: Place, answer: Any, passage: Passage
) -> tuple[str, Span | None]:
    if not isinstance(answer, dict):
        raise problem(file, place, f"answers: expected text and start, found {answer!r}")
    text = string_field(file, place, answer, "text")
    start = answer.get("start", answer.get("answer_start"))
    if start is not None and type(start) is not int:
        raise problem(file, place, f"answers: expected the start of a text, found {start!r}")
    if start is None or start < 0 or not passage.text.startswith(text, start):
        return text, None
    return text, passage.tokens_at(start, start + len(text))


def _objects(file: Path, place: Place, record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    values = record.get(name)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise problem(file, place, f"key {name!r}: expected a list of JSON objects")
    return values
