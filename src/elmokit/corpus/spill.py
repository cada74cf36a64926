"""Some text to ids of its own, kept on disk until the words of the whole corpus are known.

A spill file holds, one after another: the text's distinct words, sorted, one a line; a record
of type `SENTENCE` for each sentence; the ids, uint32, where 0 begins a sentence, 1 is `<UNK>` as
written in the text, and 2 + i is the word on line i.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.corpus.blocks import Block
from elmokit.corpus.layout import MARKS
from elmokit.corpus.problems import EXAMPLES, Problem, Problems, excerpt
from elmokit.corpus.sentences import Note, sentences_of
from elmokit.text.tokenise import tokeniser_named

# The hash is the same for the same text, so that choices made by it are stable.
SENTENCE = np.dtype([("hash", "<u8"), ("words", "<u4"), ("bytes", "<u4"), ("opens", "u1")])
ID = np.dtype("<u4")

LOCAL_BEGIN, LOCAL_UNKNOWN, FIRST_WORD = 0, 1, 2

LONGEST_WORD = 1000

# Ids while a block is read, in the order in which words come; the marks take the first.
_BEGIN, _BEGIN_WRITTEN, _END_WRITTEN, _UNKNOWN_WRITTEN, _FIRST = range(5)


@dataclass(frozen=True, slots=True)
class SpillTask:
    """Blocks to work on, and how."""

    blocks: tuple[Block, ...]
    """Text that goes into one spill; of several files where they are small."""
    file: Path
    """Where the spill goes."""
    tokeniser: str
    """Name of the tokeniser."""
    field: str | None
    """The field that holds the text, for JSON records."""
    longest_line: int
    """Bytes of the longest line that is not cut, for the lines inside of records."""
    hashes: bool
    """Whether sentences need a hash."""


@dataclass(frozen=True, slots=True)
class Spill:
    """What lies in a spill file, and what was found while it was made."""

    file: Path
    """The spill file."""
    types: int
    """Number of distinct words."""
    words_bytes: int
    """Bytes of the words in the file."""
    sentences: int
    """Number of sentences."""
    tokens: int
    """Number of ids."""
    ends_document: bool
    """Whether a document ends after the last sentence."""
    problem_counts: dict[str, int] = field(default_factory=dict)
    """How many problems of each kind there were."""
    problems: tuple[Problem, ...] = ()
    """The first of each kind."""

    def read_sentences(self) -> npt.NDArray[Any]:
        """Read the records of type `SENTENCE`."""
        return np.fromfile(self.file, SENTENCE, self.sentences, offset=self.words_bytes)

    def read_ids(self) -> npt.NDArray[np.uint32]:
        """Read the ids of the spill's own words."""
        start = self.words_bytes + self.sentences * SENTENCE.itemsize
        return np.fromfile(self.file, ID, self.tokens, offset=start)


class _Ids(dict[str, int]):
    """Gives every new word the next id."""

    def __missing__(self, word: str) -> int:
        self[word] = new = len(self) + 1
        return new


class _Found:
    """The problems of some blocks, those of the reader first."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.problems = Problems()
        self._blocks = blocks

    def noting(self, number: int) -> Note:
        """Give a function that notes problems of one block."""
        block = self._blocks[number]
        for problem in block.problems:
            self.problems.add(replace(problem, block=number))

        def note(kind: str, detail: str, line: int) -> None:
            file, line = block.source.name, block.first_line + line - 1
            self.problems.add(Problem(kind, detail, line, file, number))

        return note

    def add_ids(
        self,
        kind: str,
        details: dict[int, str],
        raw: npt.NDArray[np.uint32],
        places: list[tuple[int, int]],
    ) -> None:
        """Count the ids that have details; the first of them are the examples."""
        found = np.flatnonzero(np.isin(raw, list(details)))
        for position in found[:EXAMPLES]:
            sentence = int(np.count_nonzero(raw[: position + 1] == _BEGIN)) - 1
            number, line = places[sentence]
            block = self._blocks[number]
            place = block.first_line + line - 1
            detail = details[int(raw[position])]
            self.problems.add(Problem(kind, detail, place, block.source.name, number))
        self.problems.counts[kind] = len(found)


def spill(task: SpillTask) -> Spill:
    """Tokenise some blocks and write their spill file."""
    split_words = tokeniser_named(task.tokeniser).words
    found = _Found(task.blocks)
    ids_of = _Ids({MARKS[0]: _BEGIN_WRITTEN, MARKS[1]: _END_WRITTEN, MARKS[2]: _UNKNOWN_WRITTEN})
    id_of = ids_of.__getitem__
    ids: list[int] = []
    places: list[tuple[int, int]] = []  # block and line of each sentence
    sizes: list[int] = []
    opens: list[bool] = []
    digests: list[bytes] = []
    opening = False
    for number, block in enumerate(task.blocks):
        opening = opening or block.starts_file
        for line, text in sentences_of(
            block, field=task.field, longest_line=task.longest_line, note=found.noting(number)
        ):
            if not text:
                opening = True
                continue
            encoded = text.encode()
            if task.hashes:
                digests.append(hashlib.blake2b(encoded, digest_size=8).digest())
            sizes.append(len(encoded) + 1)
            places.append((number, line))
            opens.append(opening)
            opening = False
            ids.append(_BEGIN)
            ids.extend(map(id_of, split_words(text)))

    sentences = np.zeros(len(places), SENTENCE)
    sentences["bytes"], sentences["opens"] = sizes, opens
    if task.hashes:
        sentences["hash"] = np.frombuffer(b"".join(digests), "<u8")
    raw = np.array(ids, ID)
    words, table = _sorted_words(ids_of, raw, places, found)
    marks = (raw == _BEGIN_WRITTEN) | (raw == _END_WRITTEN)
    if marks.any():
        names = {_BEGIN_WRITTEN: f"{MARKS[0]} is written", _END_WRITTEN: f"{MARKS[1]} is written"}
        found.add_ids("mark", names, raw, places)
        raw = raw[~marks]
    sentences["words"] = _lengths(raw)
    if len(sentences) and not sentences["words"].all():
        raw, sentences, opening = _without_empty(raw, sentences, opening)
    content = b"".join((word.encode() + b"\n") for word in words)
    with task.file.open("wb") as stream:
        stream.write(content)
        stream.write(sentences.tobytes())
        stream.write(table[raw].tobytes())
    return Spill(
        task.file,
        types=len(words),
        words_bytes=len(content),
        sentences=len(sentences),
        tokens=len(raw),
        ends_document=opening,
        problem_counts=found.problems.counts,
        problems=tuple(p for examples in found.problems.examples.values() for p in examples),
    )


def _sorted_words(
    ids_of: dict[str, int],
    raw: npt.NDArray[np.uint32],
    places: list[tuple[int, int]],
    found: _Found,
) -> tuple[list[str], npt.NDArray[np.uint32]]:
    """Sort the words; give them with a table from ids while reading to ids in the file."""
    words = list(ids_of)[_FIRST - 1 :]
    too_long = [
        position
        for position, word in enumerate(words)
        if len(word) > LONGEST_WORD // 4 and len(word.encode()) > LONGEST_WORD
    ]
    details = {}
    for position in too_long:
        encoded = words[position].encode()
        details[position + _FIRST] = f"a word of {len(encoded):,} bytes: {excerpt(encoded)}"
        words[position] = encoded[:LONGEST_WORD].decode(errors="ignore")
    if details:
        found.add_ids("long_word", details, raw, places)
    ordered = sorted(set(words)) if too_long else sorted(words)
    new_ids = dict(zip(ordered, range(FIRST_WORD, FIRST_WORD + len(ordered)), strict=True))
    table = np.zeros(len(words) + _FIRST, ID)
    table[_UNKNOWN_WRITTEN] = LOCAL_UNKNOWN
    table[_FIRST:] = [new_ids[word] for word in words]
    return ordered, table


def _lengths(raw: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    starts = np.flatnonzero(raw == _BEGIN)
    return np.diff(starts, append=len(raw)) - 1


def _without_empty(
    raw: npt.NDArray[np.uint32], sentences: npt.NDArray[Any], opening: bool
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[Any], bool]:
    """Leave out sentences of marks alone; a document that one opened opens with the next."""
    starts = np.flatnonzero(raw == _BEGIN)
    empty = sentences["words"] == 0
    document = np.cumsum(sentences["opens"])
    kept = sentences[~empty]
    if len(kept):
        before = np.concatenate(([0], document[~empty][:-1]))
        kept["opens"] = document[~empty] > before
        opening = opening or bool(document[-1] > document[~empty][-1])
    else:
        opening = opening or bool(document[-1] > 0)
    return np.delete(raw, starts[empty]), kept, opening
