"""Words to rows of character ids, in the two ways published models spell.

N words, C = max_characters
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.config import Marks
from elmokit.errors import InputError

Ids = npt.NDArray[np.int32]

# Rows of bilm-tf's character embedding after the 256 bytes.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 256, 257, 258, 259, 260


class ByteAlphabet:
    """UTF-8 bytes (bilm-tf, AllenNLP): ``[BEGIN_WORD, bytes, END_WORD, PADDING...]``.

    A word keeps its first ``max_characters - 2`` bytes, even if that cuts a character in two:
    the models were trained so. Lone surrogates have no bytes and are left out.
    """

    def __init__(self, *, max_characters: int, marks: Marks) -> None:
        self.max_characters = max_characters
        self._mark_ids = {marks.begin: BEGIN_SENTENCE, marks.end: END_SENTENCE}

    def encode(self, words: Sequence[str]) -> Ids:
        """Give character ids (N, C), counted from 0 as in training."""
        limit = self.max_characters - 2
        spelled = [word.encode("utf-8", "ignore")[:limit] for word in words]
        ids = _spell_rows(
            np.frombuffer(b"".join(spelled), dtype=np.uint8),
            np.fromiter(map(len, spelled), dtype=np.int64, count=len(spelled)),
            max_characters=self.max_characters,
            boundaries=(BEGIN_WORD, END_WORD),
            padding=PADDING,
        )
        _write_marks(ids, words, self._mark_ids, end_word=END_WORD, padding=PADDING)
        return ids


class DictionaryAlphabet:
    """Code points of a dictionary (ELMoForManyLangs): ``[<eow>, chars, <bow>, <pad>...]``.

    The boundary marks are swapped: the original code reads them so, and the published models
    were trained with it.
    """

    MARKS = ("<bow>", "<eow>", "<bos>", "<eos>", "<pad>", "<oov>")

    def __init__(self, characters: Sequence[str], *, max_characters: int, marks: Marks) -> None:
        self.characters = tuple(characters)
        self.max_characters = max_characters
        self._ids = {character: index for index, character in enumerate(self.characters)}
        for mark in self.MARKS:
            if mark not in self._ids:
                raise InputError(f"the character dictionary lacks the mark {mark!r}")
        self._mark_ids = {marks.begin: self._ids["<bos>"], marks.end: self._ids["<eos>"]}
        # By code point. Its last entry stands for all that come after the last one listed.
        codes = {ord(c): index for c, index in self._ids.items() if len(c) == 1}
        self._table = np.full(max(codes, default=-1) + 2, self._ids["<oov>"], dtype=np.int32)
        self._table[list(codes)] = list(codes.values())

    def encode(self, words: Sequence[str]) -> Ids:
        """Give character ids (N, C)."""
        limit = self.max_characters - 2
        spelled = [word[:limit] for word in words]
        encoded = "".join(spelled).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(encoded, dtype="<u4")
        end_word, padding = self._ids["<bow>"], self._ids["<pad>"]
        ids = _spell_rows(
            self._table[np.minimum(codes, len(self._table) - 1)],
            np.fromiter(map(len, spelled), dtype=np.int64, count=len(spelled)),
            max_characters=self.max_characters,
            boundaries=(self._ids["<eow>"], end_word),
            padding=padding,
        )
        _write_marks(ids, words, self._mark_ids, end_word=end_word, padding=padding)
        return ids


def _spell_rows(
    flat: npt.NDArray[np.integer],
    lengths: npt.NDArray[np.int64],
    *,
    max_characters: int,
    boundaries: tuple[int, int],
    padding: int,
) -> Ids:
    """Lay the concatenated spellings ``flat`` out as one row a word, between ``boundaries``."""
    count = len(lengths)
    ids = np.full((count, max_characters), padding, dtype=np.int32)  # (N, C)
    rows = np.arange(count)
    starts = np.cumsum(lengths) - lengths
    columns = np.arange(len(flat)) - np.repeat(starts, lengths) + 1
    ids[np.repeat(rows, lengths), columns] = flat
    ids[:, 0] = boundaries[0]
    ids[rows, lengths + 1] = boundaries[1]
    return ids


def _write_marks(
    ids: Ids, words: Sequence[str], mark_ids: dict[str, int], *, end_word: int, padding: int
) -> None:
    """Replace the spelling of literal sentence marks by their own character, in place."""
    if mark_ids.keys().isdisjoint(words):
        return
    for row, word in enumerate(words):
        if word in mark_ids:
            ids[row, 1:] = padding
            ids[row, 1] = mark_ids[word]
            ids[row, 2] = end_word
