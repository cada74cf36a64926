"""Words in context that can be searched: which occurrences are nearest to this one?

Table 4 of the ELMo paper on anybody's text. The files are mapped into memory, so that opening an
index takes no time and no memory, whatever its size.

N occurrences, D size of a vector, k how many are wanted
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from elmokit.analysis.context_index_bounds import Bounds
from elmokit.analysis.context_index_layout import (
    ALWAYS,
    BEGIN,
    BOUND_FILES,
    END,
    FACTS_FILE,
    FAISS_FILE,
    FORMAT_VERSION,
    HASH,
    HEAD_FILE,
    OCCURRENCES_FILE,
    ROTATION_FILE,
    SCALES_FILE,
    SENTENCE,
    SENTENCES_FILE,
    SLACK_FILE,
    STARTS_FILE,
    VECTORS_FILE,
    IndexFacts,
    folded,
    word_hash,
)
from elmokit.analysis.context_index_search import Nearest, nearest, ranked
from elmokit.analysis.marked_word import MarkedWord, find_marked_word, with_mark
from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.load import load
from elmokit.embed.start_state import checked_start
from elmokit.engine.cpu.tiles import avoid_broken_tiles
from elmokit.errors import ElmoError, FormatError, InputError
from elmokit.files import MANIFEST_FILE, check_manifest, is_file, read_json
from elmokit.text.tokenise import WhitespaceTokeniser

# Of what is found some is left out, such as the same sentence again.
SPARE = 16


@dataclass(frozen=True)
class Occurrence:
    """A word where it stands."""

    word: str
    sentence: str
    start: int
    """Its first character in the sentence."""
    end: int
    """The character behind it."""
    row: int
    """Its number in the index."""

    @property
    def marked(self) -> str:
        """The sentence with the word between asterisks."""
        return with_mark(self.sentence, self.start, self.end)


@dataclass(frozen=True)
class Neighbour(Occurrence):
    """An occurrence that was found near to another."""

    similarity: float
    """Cosine of the two vectors."""


class ContextIndex:
    """An index that `build_index` wrote; make one with `ContextIndex.open`."""

    def __init__(
        self,
        folder: Path,
        facts: IndexFacts,
        *,
        vectors: npt.NDArray[np.float16],
        occurrences: npt.NDArray[np.uint32],
        starts: npt.NDArray[np.int64],
        text: npt.NDArray[np.uint8],
        bounds: Bounds | None,
        elmo: Elmo | None,
    ) -> None:
        self.folder = folder
        self.facts = facts
        self.vectors = vectors
        """(N, D) float16, each of length 1."""
        self._tensor = torch.from_numpy(vectors)
        self._occurrences = occurrences
        self._starts = starts
        self._text = text
        self._bounds = bounds
        self._elmo = elmo
        if elmo is not None:
            self._check_model(elmo)

    def __repr__(self) -> str:
        return (
            f"ContextIndex({str(self.folder)!r}, model={self.facts.model!r}, "
            f"occurrences={len(self)}, sentences={self.facts.sentences})"
        )

    def __len__(self) -> int:
        return self.facts.occurrences

    @classmethod
    def open(cls, path: str | Path, *, elmo: Elmo | None = None, verify: bool = False) -> Self:
        """Open the index in a folder; ``verify`` reads every file and compares its digest.

        Queries are embedded with ``elmo``, or with the model that the index was made with, which
        is loaded when the first text is asked for.
        """
        avoid_broken_tiles()
        folder = Path(path)
        facts = _read_facts(folder)
        needed = [*ALWAYS, *(BOUND_FILES if facts.has_bounds else ())]
        needed += [FAISS_FILE] if facts.has_faiss else []
        _check_files(folder, needed, verify=verify)
        rows, dim = facts.occurrences, facts.dim
        vectors = _array(folder / VECTORS_FILE, np.float16, (rows, dim))
        bounds = None
        if facts.has_bounds:
            rotation = _array(folder / ROTATION_FILE, np.float32, (dim, None))
            size = rotation.shape[1]
            bounds = Bounds(
                head=torch.from_numpy(_array(folder / HEAD_FILE, np.int8, (rows, size))),
                slack=torch.from_numpy(_array(folder / SLACK_FILE, np.float32, (rows, 2))),
                rotation=torch.from_numpy(rotation),
                scales=torch.from_numpy(_array(folder / SCALES_FILE, np.float32, (size,))),
            )
        return cls(
            folder,
            facts,
            vectors=vectors,
            occurrences=_array(folder / OCCURRENCES_FILE, np.uint32, (rows, 4)),
            starts=_array(folder / STARTS_FILE, np.int64, (facts.sentences + 1,)),
            text=np.memmap(folder / SENTENCES_FILE, dtype=np.uint8, mode="r"),
            bounds=bounds,
            elmo=elmo,
        )

    @property
    def elmo(self) -> Elmo:
        """The model that queries are embedded with."""
        if self._elmo is None:
            facts = self.facts
            try:
                elmo = load(facts.model_source, dtype=facts.dtype, start=checked_start(facts.start))
            except ElmoError as error:
                raise InputError(
                    f"{self.folder}: was made with the model {facts.model!r}, which cannot be "
                    f"loaded ({error}); say where it is (elmo=, --model in the shell)"
                ) from error
            self._check_model(elmo)
            self._elmo = elmo
        return self._elmo

    def most_similar(self, text: str, k: int = 10, *, approximate: bool = False) -> list[Neighbour]:
        """Give the ``k`` occurrences nearest to the ``*marked*`` word of a sentence.

        The same sentence is never given, nor any sentence twice. With ``approximate`` faiss finds
        them, and may miss some.
        """
        query = self.marked_word(text)
        vectors = self.elmo.embed([query.tokens], layers=self.facts.layers)[0]
        return self.similar_by_vector(
            vectors[query.position], k, approximate=approximate, leave_out=[query.sentence]
        )

    def marked_word(self, text: str) -> MarkedWord:
        """Find the ``*marked*`` word of a sentence, cut into tokens as the index was."""
        tokenise = WhitespaceTokeniser() if self.facts.tokenised else self.elmo.tokeniser
        return find_marked_word(text, tokenise)

    def similar_by_vector(
        self,
        vector: npt.ArrayLike,
        k: int = 10,
        *,
        approximate: bool = False,
        leave_out: Sequence[str] = (),
    ) -> list[Neighbour]:
        """Give the ``k`` occurrences nearest to a vector (D,), but no sentence of ``leave_out``."""
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise InputError(f"k: expected a whole number above 0, found {k!r}")
        query = np.array(vector, dtype=np.float32)
        if query.shape != (self.facts.dim,) or not np.isfinite(query).all() or not query.any():
            raise InputError(
                f"vector: expected {self.facts.dim} finite numbers, not all 0, found the shape "
                f"{query.shape}"
            )
        query /= np.linalg.norm(query)
        wanted = k + SPARE
        while True:
            found = self._nearest(query, wanted, approximate=approximate)
            neighbours = self._distinct(found, k, leave_out)
            if len(neighbours) == k or len(found.rows) < wanted or wanted >= len(self):
                return neighbours
            wanted *= 4

    def occurrences_of(self, word: str, *, any_case: bool = True) -> list[Occurrence]:
        """Give every occurrence of a word, in the order of the text."""
        rows = np.flatnonzero(self._occurrences[:, HASH] == word_hash(word))
        found = (self.occurrence(int(row)) for row in rows)
        if any_case:
            return [one for one in found if folded(one.word) == folded(word)]
        return [one for one in found if one.word == word]

    def occurrence(self, row: int) -> Occurrence:
        """Give the occurrence with a number."""
        sentence, start, end = (
            int(self._occurrences[row, column]) for column in (SENTENCE, BEGIN, END)
        )
        text = self.sentence(sentence)
        return Occurrence(text[start:end], text, start, end, row)

    def sentence(self, number: int) -> str:
        """Give the sentence with a number."""
        first, last = int(self._starts[number]), int(self._starts[number + 1])
        try:
            return bytes(self._text[first : last - 1]).decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(
                self.folder / SENTENCES_FILE,
                f"sentence {number} is no UTF-8 text",
                hint=f"build the index again; it was made with the model {self.facts.model!r}",
            ) from error

    def _nearest(self, query: npt.NDArray[np.float32], count: int, *, approximate: bool) -> Nearest:
        tensor = torch.from_numpy(query)
        if not approximate:
            return nearest(self._tensor, tensor, count, self._bounds)
        rows = self._faiss.rows(query, count)
        return ranked(self._tensor, tensor, torch.from_numpy(rows), count)

    @cached_property
    def _faiss(self) -> Any:
        if not self.facts.has_faiss:
            raise InputError(
                f"{self.folder}: holds no approximate index; build it with faiss=True (--faiss in "
                "the shell)"
            )
        from elmokit.analysis.context_index_faiss import FaissCandidates

        return FaissCandidates(self.folder / FAISS_FILE, shape=self.vectors.shape)

    def _distinct(self, found: Nearest, k: int, leave_out: Sequence[str]) -> list[Neighbour]:
        seen = {text.strip() for text in leave_out}
        neighbours: list[Neighbour] = []
        for row, similarity in zip(found.rows, found.similarities, strict=True):
            occurrence = self.occurrence(int(row))
            if occurrence.sentence in seen:
                continue
            seen.add(occurrence.sentence)
            neighbours.append(Neighbour(**vars(occurrence), similarity=float(similarity)))
            if len(neighbours) == k:
                break
        return neighbours

    def _check_model(self, elmo: Elmo) -> None:
        facts = self.facts
        if elmo_identity(elmo) != facts.model_sha256:
            name = elmo.metadata.get("name", elmo.source_format)
            raise FormatError(
                self.folder / FACTS_FILE,
                f"the index was made with the model {facts.model!r} (weights "
                f"{facts.model_sha256[:12]}), and {name!r} has other weights",
                hint="load that model, or build the index again",
            )
        if elmo.start != facts.start:
            raise InputError(
                f"{self.folder}: the model {facts.model!r} made it with start={facts.start!r}, "
                f"found start={elmo.start!r}; load the model with that"
            )


def is_index(path: str | Path) -> bool:
    """Whether an index of words in context lies in a folder."""
    return is_file(Path(path) / FACTS_FILE)


def _read_facts(folder: Path) -> IndexFacts:
    file = folder / FACTS_FILE
    if not is_file(file):
        raise FormatError(
            folder, f"is no index (it has no {FACTS_FILE})", hint="build one with elmo index"
        )
    values = read_json(file)
    if values.get("version") != FORMAT_VERSION:
        raise FormatError(
            file, "unknown version", found=values.get("version"), expected=FORMAT_VERSION
        )
    try:
        return IndexFacts.from_dict(values, "index")
    except InputError as error:
        raise FormatError(file, str(error)) from error


def _check_files(folder: Path, needed: Sequence[str], *, verify: bool) -> None:
    """Check what can be checked at once; the large files by their sizes, unless ``verify``."""
    large = [name for name in needed if name != FACTS_FILE]
    try:
        check_manifest(folder, needed, unchecked=() if verify else large)
        listed = read_json(folder / MANIFEST_FILE)["files"]
        for name in large:
            file, size = folder / name, listed[name]["size"]
            if not is_file(file):
                raise FormatError(file, "missing, though the manifest lists it")
            if file.stat().st_size != size:
                raise FormatError(
                    file, "damaged", found=f"{file.stat().st_size} bytes", expected=size
                )
    except FormatError as error:
        facts = _read_facts(folder)
        raise FormatError(
            error.file,
            error.problem,
            key=error.key,
            found=error.found,
            expected=error.expected,
            hint=f"build the index again; it was made with the model {facts.model!r}",
        ) from error


def _array(file: Path, dtype: npt.DTypeLike, shape: tuple[int | None, ...]) -> Any:
    """Map an array into memory; None stands for any size."""
    try:
        # Copy on write: torch wants memory that it could write to.
        array = np.load(file, mmap_mode="c", allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
        raise FormatError(file, f"cannot be read ({error})") from error
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, found) for found, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        raise FormatError(
            file,
            "wrong content",
            found=f"{array.dtype} of shape {array.shape}",
            expected=f"{np.dtype(dtype)} of shape {shape}",
        )
    return np.asarray(array)
