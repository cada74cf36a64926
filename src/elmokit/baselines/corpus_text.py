"""A corpus for the models before ELMo: read as for pretraining, cut by the same tokeniser.

Whatever `elmokit.corpus` reads is prepared into ids on disk, in a temporary folder if it is not
prepared already, so that memory does not grow with the text and every model counts the same words.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from elmokit.corpus.layout import BEGIN, CORPUS_FILE, COUNTS_FILE, TRAIN
from elmokit.corpus.prepare import prepare
from elmokit.corpus.prepared import PreparedCorpus, Split
from elmokit.corpus.sources import PathLike
from elmokit.errors import FormatError, InputError
from elmokit.files import is_file

Numbers = npt.NDArray[np.int32]

_PIECE = 2**22


@contextmanager
def opened_corpus(
    corpus: Sequence[PathLike], *, tokeniser: str = "words", field: str | None = None
) -> Iterator[PreparedCorpus]:
    """Open a prepared corpus, or prepare texts for as long as they are needed.

    A folder that `elmo prepare` made is taken as it is: its tokeniser cut it.
    """
    if len(corpus) == 1 and is_file(Path(corpus[0]) / CORPUS_FILE):
        yield PreparedCorpus(Path(corpus[0]))
        return
    with TemporaryDirectory(prefix="elmokit-") as folder:
        prepared = Path(folder) / "prepared"
        prepare(corpus, prepared, held_out=0.0, tokeniser=tokeniser, field=field)
        yield PreparedCorpus(prepared)


def train_split(corpus: PreparedCorpus) -> Split:
    """Give the text to learn from."""
    split = corpus.split(TRAIN)
    if split is None or len(split.tokens) == 0:
        raise InputError(f"{corpus.folder}: the corpus holds no text")
    return split


def word_counts(corpus: PreparedCorpus) -> npt.NDArray[np.int64]:
    """Give how often each distinct word occurs, marks first."""
    file = corpus.folder / COUNTS_FILE
    try:
        counts: npt.NDArray[np.int64] = np.load(file, allow_pickle=False).astype(np.int64)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(file, f"cannot be read ({error})") from error
    if counts.shape != (corpus.type_count,):
        raise FormatError(file, "wrong content", found=counts.shape, expected=corpus.type_count)
    return counts


def stream_pieces(split: Split, *, piece: int = _PIECE) -> Iterator[npt.NDArray[np.int64]]:
    """Give the ids of a text in pieces: each sentence is the begin mark and its words."""
    for start in range(0, len(split.tokens), piece):
        yield split.tokens.take(np.arange(start, min(start + piece, len(split.tokens))))


class Sentences:
    """The sentences of a corpus as lists of words, as often as they are asked for."""

    def __init__(self, corpus: PreparedCorpus) -> None:
        self._split = train_split(corpus)
        self._words = corpus.words

    def __iter__(self) -> Iterator[list[str]]:
        words = self._words
        rest = np.empty(0, dtype=np.int64)
        for piece in stream_pieces(self._split):
            ids = np.concatenate([rest, piece])
            begins = np.flatnonzero(ids == BEGIN)
            for first, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
                yield [words[number] for number in ids[first + 1 : end].tolist()]
            rest = ids[begins[-1] :] if len(begins) else ids
        yield [words[number] for number in rest[1:].tolist()]
