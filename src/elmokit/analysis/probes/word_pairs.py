"""Pairs of sentences with one word in both, and whether it means the same (Words in Context)."""

from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import FormatError
from elmokit.text.records import problem, read_records, short, text_field, value_of
from elmokit.text.tokenise import WordTokeniser


class WordInText(NamedTuple):
    """A tokenised sentence and the tokens of it that are looked at."""

    tokens: tuple[str, ...]
    first: int
    last: int


class WordPair(NamedTuple):
    """Two uses of a word."""

    uses: tuple[WordInText, WordInText]
    same: bool
    """Whether both have one meaning."""


def read_pairs(file: Path) -> list[WordPair]:
    """Read a file, packed or not, with one object a line.

    Fields: ``sentence1``, ``sentence2``; ``span1``, ``span2``, the characters ``[start, end)`` of
    the word in them; ``label``, 1 or true where the meaning is the same.
    """
    pairs = []
    for number, record in read_records(file):
        label = value_of(file, number, record, "label")
        if label not in (0, 1):
            raise problem(file, number, f"key 'label': expected 0 or 1, found {short(label)}")
        uses = (_use(file, number, record, "1"), _use(file, number, record, "2"))
        pairs.append(WordPair(uses, bool(label)))
    if not pairs:
        raise FormatError(file, "holds no pair of sentences")
    return pairs


def _use(file: Path, number: int, record: dict[str, Any], which: str) -> WordInText:
    text = text_field(file, number, record, f"sentence{which}")
    span = value_of(file, number, record, f"span{which}")
    is_pair = isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
    if not is_pair or not 0 <= span[0] < span[1] <= len(text):
        raise problem(
            file,
            number,
            f"key 'span{which}': expected [start, end] within {len(text)} characters, "
            f"found {short(span)}",
        )
    tokens = WordTokeniser()(text)
    inside = [i for i, t in enumerate(tokens) if t.start < span[1] and t.end > span[0]]
    if not inside:
        raise problem(file, number, f"key 'span{which}': no word at {span} in {short(text)}")
    return WordInText(tuple(token.text for token in tokens), inside[0], inside[-1])
