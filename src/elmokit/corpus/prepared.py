"""Reading the folder that `elmo prepare` writes: distinct words, and streams of their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.config import Marks
from elmokit.corpus.layout import CORPUS_FILE, FORMAT_VERSION, WORDS_FILE, documents_file
from elmokit.errors import FormatError, InputError
from elmokit.files import MANIFEST_FILE, is_file, read_json, read_text, sha256_of
from elmokit.text.vocabulary import Vocabulary


class Shard(NamedTuple):
    """A part of a stream."""

    file: Path
    """Where it lies."""
    ids: npt.NDArray[Any]
    """Its ids, memory-mapped."""


class TokenStream:
    """The ids of a split, one long array over several memory-mapped files."""

    def __init__(self, shards: Sequence[Shard], *, type_count: int) -> None:
        self._shards = shards
        self._type_count = type_count
        self._starts = np.cumsum([0, *(len(shard.ids) for shard in shards)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Give the ids at ``positions``, an array of any shape."""
        if len(self._shards) == 1:
            return self._checked(self._shards[0], positions).astype(np.int64)
        taken = np.empty(positions.shape, dtype=np.int64)
        shard_of = np.searchsorted(self._starts, positions, side="right") - 1
        for shard in np.unique(shard_of):
            here = shard_of == shard
            places = positions[here] - self._starts[shard]
            taken[here] = self._checked(self._shards[shard], places)
        return taken

    def _checked(self, shard: Shard, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        ids: npt.NDArray[Any] = shard.ids[places]
        # Looked at on their way out of the file: opening it must not read gigabytes, and the
        # largest of a window's ids is found in microseconds.
        if ids.size and (largest := int(ids.max())) >= self._type_count:
            raise FormatError(
                shard.file,
                "an id that no word has",
                found=largest,
                expected=f"less than {self._type_count}, the types in {CORPUS_FILE}",
                hint="the files are damaged or not of one preparation: prepare the corpus again",
            )
        return ids


@dataclass(frozen=True, kw_only=True)
class Split:
    """Text for training or held-out text."""

    tokens: TokenStream
    """Every sentence as the begin mark and its words' ids, one after another."""
    documents: npt.NDArray[np.int64]
    """Where documents begin in the stream; the first at 0."""
    facts: dict[str, Any]
    """Counts: ``words``, ``sentences``, ``documents``, ``bytes``, ``unknown_words``."""


class PreparedCorpus:
    """A prepared folder; nothing large is read before it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / CORPUS_FILE
        if not is_file(self.file):
            raise InputError(
                f"{folder}: no prepared corpus, for it holds no {CORPUS_FILE}; make one with "
                f"elmo prepare CORPUS -o {folder}"
            )
        self.facts = read_json(self.file)
        if self.facts.get("format_version") != FORMAT_VERSION:
            raise FormatError(
                self.file,
                "unknown version of the format",
                key="format_version",
                found=repr(self.facts.get("format_version")),
                expected=FORMAT_VERSION,
                hint="prepare the corpus again",
            )
        kinds = {"tokeniser": str, "types": int, "vocabulary_size": int, "splits": dict}
        for key, kind in kinds.items():
            if not isinstance(self.facts.get(key), kind):
                raise FormatError(self.file, "key missing or of the wrong kind", key=key)

    @property
    def tokeniser(self) -> str:
        """Name of the tokeniser that cut the text."""
        return str(self.facts["tokeniser"])

    @property
    def type_count(self) -> int:
        """Number of distinct words, marks included."""
        return int(self.facts["types"])

    @property
    def vocabulary_size(self) -> int:
        """Number of words that a model predicts, marks included: the ids below it."""
        return int(self.facts["vocabulary_size"])

    @cached_property
    def words(self) -> list[str]:
        """Every distinct word in the order of ids."""
        words = read_text(self.folder / WORDS_FILE).split("\n")
        if words[-1] == "":
            words.pop()
        if len(words) != self.type_count:
            raise FormatError(
                self.folder / WORDS_FILE,
                "wrong number of words",
                found=len(words),
                expected=self.type_count,
            )
        return words

    def identity(self) -> dict[str, Any]:
        """Give what tells this corpus from others."""
        file = self.folder / MANIFEST_FILE
        return {
            "types": self.type_count,
            "manifest": sha256_of(file) if is_file(file) else None,
        }

    def vocabulary(self, size: int | None = None) -> Vocabulary:
        """Give the ``size`` most frequent words, marks first."""
        return Vocabulary(self.words[: size or self.vocabulary_size], marks=Marks())

    def split(self, name: str) -> Split | None:
        """Open ``train`` or ``valid``; None where the corpus has none."""
        facts = self.facts["splits"].get(name)
        if facts is None:
            return None
        try:
            shards = [
                Shard(self.folder / shard["file"], self._array(shard["file"], shard["tokens"]))
                for shard in facts["shards"]
            ]
            documents = self._array(documents_file(name), facts["documents"])
        except (KeyError, TypeError) as error:
            raise FormatError(
                self.file, f"wrong content about {name} ({error!r})", hint="prepare it again"
            ) from error
        tokens = TokenStream(shards, type_count=self.type_count)
        starts = np.asarray(documents, np.int64)
        if len(starts) and (starts[0] != 0 or (np.diff(starts, append=len(tokens)) < 1).any()):
            raise FormatError(
                self.folder / documents_file(name),
                "wrong starts of documents",
                expected=f"0 and rising numbers below {len(tokens)}",
                hint="the files are damaged or not of one preparation: prepare the corpus again",
            )
        return Split(tokens=tokens, documents=starts, facts=facts)

    def _array(self, name: str, length: int) -> npt.NDArray[Any]:
        file = self.folder / name
        try:
            array: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise FormatError(
                file, f"cannot be read ({error})", hint="prepare the corpus again"
            ) from error
        if array.shape != (length,) or array.dtype.kind != "u":
            raise FormatError(
                file,
                "wrong content",
                found=f"{array.dtype} {array.shape}",
                expected=f"{length} ids",
                hint="prepare the corpus again",
            )
        return array
