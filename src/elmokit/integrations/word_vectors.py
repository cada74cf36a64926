"""One vector a word, in word2vec's format: for gensim and all that read such files.

ELMo gives a word another vector in each context. Made static, a word has either what the model
knows of it alone, or the mean of its vectors over the contexts of a corpus.

V words, D size of a representation, n tokens of a sentence
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.baselines.corpus_text import Sentences, opened_corpus, train_split, word_counts
from elmokit.corpus.layout import MARKS
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.corpus.sources import PathLike
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import LayerChoice, Layers, Vectors
from elmokit.embed.progress import track
from elmokit.errors import InputError
from elmokit.files import check_parent, exists, exists_error
from elmokit.formats.word2vec_files import writing_word_vectors

_WORDS_AT_ONCE = 4096


@dataclass(frozen=True)
class ExportSummary:
    """What was written."""

    output: str
    words: int
    dim: int
    contexts: int
    """How many vectors went into the means; 0 where each word was read by itself."""
    seconds: float


def model_words(elmo: Elmo) -> list[str]:
    """Give the words that a model has a list of, marks left out."""
    if elmo.vocabulary is None:
        raise InputError("words: the model has no list of words; give words or a corpus")
    marks = elmo.vocabulary.marks
    return [
        word
        for word in elmo.vocabulary.words
        if word not in (marks.begin, marks.end, marks.unknown)
    ]


def export_static_vectors(
    elmo: Elmo,
    words: Iterable[str],
    output: str | Path,
    *,
    layers: Layers = 0,
    overwrite: bool = False,
    progress: bool = False,
) -> ExportSummary:
    """Write the vectors of words that are each read by itself, as a sentence of one word.

    Layer 0 looks at no context anyway. ``output`` is binary if its name ends in ``.bin``, else
    text; ``.gz`` and the like pack it. Words come in the order given, each once. Memory does not
    grow with the number of words, but for the words themselves.
    """
    started = time.perf_counter()
    destination = _checked_output(output, overwrite)
    _check_layers(elmo, layers)
    if isinstance(words, str):
        raise InputError(f"words: expected a list of words, found one string {words[:60]!r}")
    listed = list(words)
    _check_words(listed)
    distinct = list(dict.fromkeys(listed))
    with writing_word_vectors(destination, count=len(distinct), dim=elmo.dim) as write:
        blocks: Iterable[list[str]] = _blocks(distinct)
        if progress:
            blocks = track(blocks, "Embedding", total=-(-len(distinct) // _WORDS_AT_ONCE))
        for block in blocks:
            write(block, _static(elmo, block, layers))
    seconds = round(time.perf_counter() - started, 3)
    return ExportSummary(str(output), len(distinct), elmo.dim, 0, seconds)


def export_averaged_vectors(
    elmo: Elmo,
    corpus: Sequence[PathLike],
    output: str | Path,
    *,
    layers: Layers = "average",
    min_count: int = 5,
    most: int | None = None,
    tokenised: bool = False,
    field: str | None = None,
    overwrite: bool = False,
    progress: bool = False,
    batch_tokens: int | None = None,
) -> ExportSummary:
    """Write the mean of each word's contextual vectors over a corpus, frequent words first.

    ``corpus`` is what `elmo static train` reads. Words that occur less than ``min_count`` times
    are left out, and with ``most`` all but so many of the most frequent. ``output`` is as in
    `export_static_vectors`. The text is read in a stream; memory holds V x D sums of 8 bytes,
    whatever its length. With layer 0, which is the same in all contexts, the text is only counted.
    """
    started = time.perf_counter()
    destination = _checked_output(output, overwrite)
    _check_layers(elmo, layers)
    for name, value in (("min_count", min_count), ("most", most)):
        if value is not None and value < 1:
            raise InputError(f"{name}: expected a whole number above 0, found {value}")
    tokeniser = "whitespace" if tokenised else elmo.tokeniser.name
    with opened_corpus(corpus, tokeniser=tokeniser, field=field) as prepared:
        words = _frequent_words(prepared, min_count, most)
        if _is_lowest(elmo, layers):
            return export_static_vectors(
                elmo, words, output, layers=layers, overwrite=overwrite, progress=progress
            )
        means = _Means(words, elmo.dim)
        sentences = _sentences_with(prepared, means, progress=progress)
        waiting: deque[list[str]] = deque()
        embedded = elmo.embed_iter(
            _noted(sentences, waiting), layers=layers, batch_tokens=batch_tokens
        )
        for vectors in embedded:
            means.add(waiting.popleft(), vectors)
    with writing_word_vectors(destination, count=len(words), dim=elmo.dim) as write:
        for block in _blocks(words):
            write(block, means.of(block))
    seconds = round(time.perf_counter() - started, 3)
    return ExportSummary(str(output), len(words), elmo.dim, means.contexts, seconds)


class _Means:
    """Sums of vectors, in as many digits as no length of text can wear away."""

    def __init__(self, words: Sequence[str], dim: int) -> None:
        self.rows = {word: row for row, word in enumerate(words)}
        self._sums = np.zeros((len(words), dim))  # (V, D)
        self._counts = np.zeros(len(words), dtype=np.int64)  # (V,)

    @property
    def contexts(self) -> int:
        """How many vectors were added."""
        return int(self._counts.sum())

    def add(self, words: Sequence[str], vectors: Vectors) -> None:
        """Add the vectors (n, D) of a sentence to those of its words."""
        places = [place for place, word in enumerate(words) if word in self.rows]
        rows = [self.rows[words[place]] for place in places]
        if len(set(rows)) == len(rows):  # which is much faster
            self._sums[rows] += vectors[places]
            self._counts[rows] += 1
        else:
            np.add.at(self._sums, rows, vectors[places])
            np.add.at(self._counts, rows, 1)

    def of(self, words: Sequence[str]) -> npt.NDArray[np.float64]:
        """Give the means (n, D) of some words."""
        rows = [self.rows[word] for word in words]
        means: npt.NDArray[np.float64] = self._sums[rows] / self._counts[rows, None]
        return means


def _frequent_words(corpus: PreparedCorpus, min_count: int, most: int | None) -> list[str]:
    counts = word_counts(corpus)
    counts[: len(MARKS)] = 0
    order = np.argsort(-counts, kind="stable")[:most]
    words = [corpus.words[number] for number in order.tolist() if counts[number] >= min_count]
    if not words:
        raise InputError(
            f"min_count: no word of the corpus occurs {min_count} times; the most frequent one "
            f"occurs {int(counts.max(initial=0))} times"
        )
    return words


def _sentences_with(
    corpus: PreparedCorpus, means: _Means, *, progress: bool
) -> Iterator[list[str]]:
    """Give the sentences that hold a word whose mean is wanted."""
    sentences: Iterable[list[str]] = Sentences(corpus)
    if progress:
        total = int(train_split(corpus).facts["sentences"])
        sentences = track(sentences, "Averaging", total=total)
    return (sentence for sentence in sentences if not means.rows.keys().isdisjoint(sentence))


def _noted(sentences: Iterable[list[str]], notes: deque[list[str]]) -> Iterator[list[str]]:
    for sentence in sentences:
        notes.append(sentence)
        yield sentence


def _static(elmo: Elmo, words: list[str], layers: Layers) -> npt.NDArray[np.float32]:
    """Give (n, D) for words that are read apart."""
    if _is_lowest(elmo, layers):
        half = elmo.embedder.word_vectors(words).float().cpu().numpy()  # (n, D / 2)
        return np.concatenate([half, half], axis=1)
    return np.concatenate(elmo.embed([[word] for word in words], layers=layers))


def _is_lowest(elmo: Elmo, layers: Layers) -> bool:
    return isinstance(layers, int) and layers in (0, -elmo.layer_count)


def _blocks(words: Sequence[str]) -> Iterator[list[str]]:
    for first in range(0, len(words), _WORDS_AT_ONCE):
        yield list(words[first : first + _WORDS_AT_ONCE])


def _checked_output(output: str | Path, overwrite: bool) -> Path:
    destination = Path(output)
    check_parent(destination)
    if exists(destination) and not overwrite:
        raise exists_error(destination)
    return destination


def _check_layers(elmo: Elmo, layers: Layers) -> None:
    if elmo.start == "carry":
        raise InputError(
            "model: expected one loaded with start='warm' or 'zeros', with which a word's vector "
            "depends on its sentence alone, found 'carry'"
        )
    shape = LayerChoice(layers, count=elmo.layer_count, dim=elmo.dim).shape(0)
    if len(shape) != 2:
        raise InputError(f"layers: expected a choice of one vector per word, found {layers!r}")


def _check_words(words: Sequence[str]) -> None:
    if not words:
        raise InputError("words: expected at least one, found none")
    for number, word in enumerate(words):
        if not isinstance(word, str) or word.split() != [word]:
            raise InputError(
                f"words: expected words without spaces, found {word!r} at place {number}"
            )
