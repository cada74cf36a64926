"""The streams of ids on disk, in shards that end where a sentence ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.corpus.arrays import ArrayWriter
from elmokit.corpus.layout import UNKNOWN, documents_file, shard_file
from elmokit.corpus.merge import PlaceTables
from elmokit.corpus.plan import OPENS, Plan, in_place
from elmokit.corpus.spill import FIRST_WORD, LOCAL_UNKNOWN, Spill


@dataclass
class SplitFacts:
    """What a split holds."""

    tokens: int = 0
    """Length of the stream of ids."""
    words: int = 0
    """Words, without the mark that begins each sentence."""
    sentences: int = 0
    documents: int = 0
    bytes: int = 0
    """UTF-8 bytes of the sentences, with one line end each."""
    unknown_words: int = 0
    """Words outside of the vocabulary."""
    shards: list[dict[str, Any]] = field(default_factory=list)
    """Name and number of ids of each file."""


class SplitWriter:
    """Writes the shards and the starts of documents of one split."""

    def __init__(
        self,
        folder: Path,
        split: str,
        dtype: npt.DTypeLike,
        *,
        vocabulary_size: int,
        shard_tokens: int,
    ) -> None:
        self.facts = SplitFacts()
        self._folder = folder
        self._split = split
        self._dtype = dtype
        self._vocabulary_size = vocabulary_size
        self._shard_tokens = shard_tokens
        self._shard: ArrayWriter | None = None
        self._documents = ArrayWriter(folder / documents_file(split), "<u8")

    def append(
        self,
        ids: npt.NDArray[Any],
        sentences: npt.NDArray[Any],
        opens: npt.NDArray[np.bool_],
    ) -> None:
        """Write whole sentences, given as ids, records of type `SENTENCE` and document starts."""
        if not len(ids):
            return
        lengths = sentences["words"].astype(np.int64) + 1
        ends = np.cumsum(lengths)
        facts = self.facts
        self._documents.append((ends - lengths)[opens] + facts.tokens)
        facts.tokens += len(ids)
        facts.words += len(ids) - len(sentences)
        facts.sentences += len(sentences)
        facts.documents += int(np.count_nonzero(opens))
        facts.bytes += int(sentences["bytes"].sum(dtype=np.int64))
        unknown = (ids >= self._vocabulary_size) | (ids == UNKNOWN)
        facts.unknown_words += int(np.count_nonzero(unknown))
        done = 0
        while done < len(ids):
            room = self._shard_tokens - (self._shard.length if self._shard else 0)
            sentence = int(np.searchsorted(ends, done + room, side="right")) - 1
            end = int(ends[sentence]) if sentence >= 0 else 0
            if end <= done and self._shard:
                self._end_shard()
                continue
            if end <= done:  # one sentence alone is longer than a shard
                end = int(ends[np.searchsorted(ends, done, side="right")])
            if self._shard is None:
                name = shard_file(self._split, len(facts.shards))
                self._shard = ArrayWriter(self._folder / name, self._dtype)
            self._shard.append(ids[done:end])
            done = end

    def close(self) -> SplitFacts:
        """End the files and say what is in them; a split without text has no files."""
        self._end_shard()
        self._documents.close()
        if not self.facts.sentences:
            self._documents.file.unlink()
        return self.facts

    def _end_shard(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self.facts.shards.append({"file": self._shard.file.name, "tokens": self._shard.length})
            self._shard = None


def count_words(
    spills: Sequence[Spill], plan: Plan, tables: PlaceTables, *, types: int, place: int
) -> tuple[npt.NDArray[np.int64], int, int]:
    """Count each word in one place, in the order of the merged list; and `<UNK>`, and sentences."""
    counts = np.zeros(types, np.int64)
    unknown = sentences = 0
    for number, spill in enumerate(spills):
        flags = plan.read(number)
        chosen = in_place(flags, place)
        if not chosen.any():
            continue
        ids = spill.read_ids()
        if not chosen.all():
            ids = ids[_tokens_of(spill.read_sentences(), chosen)]
        local = np.bincount(ids, minlength=FIRST_WORD + spill.types)
        counts[tables.read(number)] += local[FIRST_WORD:]
        unknown += int(local[LOCAL_UNKNOWN])
        sentences += int(np.count_nonzero(chosen))
    return counts, unknown, sentences


def write_stream(
    number: int,
    spill: Spill,
    plan: Plan,
    table: npt.NDArray[Any],
    writers: dict[int, SplitWriter],
) -> None:
    """Give each writer its sentences of a spill, through a table from local to final ids."""
    flags = plan.read(number)
    sentences = spill.read_sentences()
    ids = table[spill.read_ids()]
    for place, writer in writers.items():
        chosen = in_place(flags, place)
        opens = (flags & OPENS) > 0
        if chosen.all():
            writer.append(ids, sentences, opens)
        elif chosen.any():
            part = ids[_tokens_of(sentences, chosen)]
            writer.append(part, sentences[chosen], opens[chosen])


def _tokens_of(sentences: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return np.repeat(chosen, sentences["words"].astype(np.int64) + 1)
