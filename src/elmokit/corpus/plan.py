"""Which sentence goes where: the train stream, the held-out stream, or nowhere.

Held-out text is chosen by a hash of the text itself, so that the choice does not depend on the
order of files, on the number of processes or on luck. Units of choice are documents. Where there
are few of them, or one is large, they are blocks of consecutive sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.corpus.spill import Spill

# What is known about a sentence: one of the first three, with OPENS where a document begins.
IN_TRAIN, IN_VALID, DROPPED, OPENS = 0, 1, 2, 4
_PLACE = 3

# Fewer documents than this are too coarse to choose from.
_FEWEST_DOCUMENTS = 1000
_LARGEST_SHARE = 0.01
# Units whose hashes fit into memory with ease.
_MOST_TO_SORT = 1 << 20
# Sentences in a block, where blocks are the units.
_LONGEST_BLOCK = 100


@dataclass(frozen=True)
class Choice:
    """How held-out text was chosen."""

    units: str
    """``documents``, ``blocks`` or ``none``."""
    block_sentences: int = 0
    """Sentences of a block."""


class Plan:
    """A byte for every sentence, in one file, read and written spill by spill."""

    def __init__(self, file: Path, spills: Sequence[Spill]) -> None:
        self._file = file
        self._starts = np.cumsum([0, *(spill.sentences for spill in spills)], dtype=np.int64)
        with file.open("wb") as stream:
            stream.truncate(int(self._starts[-1]))

    def read(self, number: int) -> npt.NDArray[np.uint8]:
        """Read what is known about the sentences of one spill."""
        start, end = self._starts[number : number + 2]
        return np.fromfile(self._file, np.uint8, int(end - start), offset=int(start))

    def write(self, number: int, flags: npt.NDArray[np.uint8]) -> None:
        """Write what is known about the sentences of one spill."""
        with self._file.open("r+b") as stream:
            stream.seek(int(self._starts[number]))
            stream.write(flags.tobytes())


def in_place(flags: npt.NDArray[np.uint8], place: int) -> npt.NDArray[np.bool_]:
    """Say which sentences go to ``place``."""
    chosen: npt.NDArray[np.bool_] = (flags & _PLACE) == place
    return chosen


def open_documents(
    plan: Plan,
    spills: Sequence[Spill],
    *,
    numbers: range,
    place: int,
    duplicates: npt.NDArray[np.bool_] | None,
) -> None:
    """Put the sentences of some spills in ``place``, and mark where documents begin.

    A document whose first sentence is dropped begins with the first that stays.
    """
    done = 0
    document = last_document = 0
    pending = True  # whether the next sentence begins a document
    for number in numbers:
        spill = spills[number]
        if not spill.sentences:
            pending = pending or spill.ends_document
            continue
        opens = spill.read_sentences()["opens"].astype(np.int64)
        opens[0] |= pending
        pending = spill.ends_document
        documents = document + np.cumsum(opens)
        document = int(documents[-1])
        flags = np.full(spill.sentences, place, np.uint8)
        if duplicates is not None:
            flags[duplicates[done : done + spill.sentences]] = DROPPED
        done += spill.sentences
        kept = flags != DROPPED
        if kept.any():
            of_kept = documents[kept]
            before = np.concatenate(([last_document], of_kept[:-1]))
            flags[kept] |= np.where(of_kept > before, OPENS, 0).astype(np.uint8)
            last_document = int(of_kept[-1])
        plan.write(number, flags)


def hold_out(
    plan: Plan, spills: Sequence[Spill], folder: Path, *, numbers: range, share: float
) -> Choice:
    """Move about ``share`` of the text from train to held-out."""
    choice = _choice(plan, numbers)
    if choice.units == "none":
        return choice
    hashes = folder / "unit-hashes"
    with hashes.open("wb") as stream:
        carried = np.zeros(1, np.uint64)  # of the unit that is still open
        for number, unit_starts, kept in _units(plan, numbers, choice):
            values = _mixed(spills[number].read_sentences()["hash"][kept])
            edges = np.concatenate(([0], unit_starts))
            # The first sum is what a unit goes on with that began before; it may be empty.
            padded = np.concatenate((values, np.zeros(1, np.uint64)))
            sums = np.add.reduceat(padded, edges)
            if len(unit_starts) and unit_starts[0] == 0:
                sums[0] = 0
            sums[:1] += carried
            carried = sums[-1:].copy()
            stream.write(sums[:-1].tobytes())
        stream.write(carried.tobytes())
    # The first value stands before the first unit and means nothing.
    unit_hashes = np.memmap(hashes, np.uint64, "r", offset=8)
    limit, spared = _limit(unit_hashes, share)
    unit, last_place = -1, IN_TRAIN
    for number, unit_starts, kept in _units(plan, numbers, choice):
        of_sentence = np.zeros(len(kept), np.int64)
        of_sentence[unit_starts] = 1
        of_sentence = np.cumsum(of_sentence) + unit
        first, unit = int(of_sentence[0]), int(of_sentence[-1])
        mixed = _mixed(unit_hashes[first : unit + 1])
        chosen = (mixed <= limit) & (np.arange(first, unit + 1) != spared)
        places = np.where(chosen[of_sentence - first], IN_VALID, IN_TRAIN).astype(np.uint8)
        # Where the text does not go on, a document begins.
        changes = places != np.concatenate(([last_place], places[:-1]))
        last_place = int(places[-1])
        flags = plan.read(number)
        flags[kept] = (flags[kept] & OPENS) | places | np.where(changes, OPENS, 0).astype(np.uint8)
        plan.write(number, flags)
    return choice


def _choice(plan: Plan, numbers: range) -> Choice:
    sentences = documents = largest = current = 0
    for number in numbers:
        flags = plan.read(number)
        kept = flags[~in_place(flags, DROPPED)]
        starts = np.flatnonzero(kept & OPENS)
        sentences += len(kept)
        documents += len(starts)
        lengths = np.diff(np.concatenate(([-current], starts, [len(kept)])))
        largest = max(largest, int(lengths.max()))
        current = int(lengths[-1])
    if sentences < 2:
        return Choice("none")
    if documents >= _FEWEST_DOCUMENTS and largest <= _LARGEST_SHARE * sentences:
        return Choice("documents")
    return Choice("blocks", min(max(sentences // _FEWEST_DOCUMENTS, 1), _LONGEST_BLOCK))


def _units(
    plan: Plan, numbers: range, choice: Choice
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """For each spill that has kept sentences: where units start among them, and which they are."""
    done = 0
    for number in numbers:
        flags = plan.read(number)
        kept = np.flatnonzero(~in_place(flags, DROPPED))
        if not len(kept):
            continue
        if choice.units == "documents":
            starts = np.flatnonzero(flags[kept] & OPENS)
        else:
            starts = np.flatnonzero((np.arange(len(kept)) + done) % choice.block_sentences == 0)
        done += len(kept)
        yield number, starts, kept


def _limit(hashes: npt.NDArray[Any], share: float) -> tuple[np.uint64, int]:
    """Give the highest hash that is chosen, and a unit to spare where that would be all."""
    wanted = min(max(round(share * len(hashes)), 1), len(hashes) - 1)
    if len(hashes) > _MOST_TO_SORT:  # so many that chance is even
        return np.uint64(int(share * 2**64)), -1
    mixed = _mixed(hashes)
    limit = np.partition(mixed, wanted - 1)[wanted - 1]
    return limit, 0 if (mixed <= limit).all() else -1


def _mixed(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Spread values over the whole range (the last steps of splitmix64)."""
    mixed = np.array(values, np.uint64)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
