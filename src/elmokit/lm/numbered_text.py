"""Documents as numbers of words, and the order in which each direction reads them."""

from collections.abc import Sequence
from typing import NamedTuple, get_args

import numpy as np

from elmokit.config import Marks
from elmokit.engine.reader import Numbers, OneDirection

DIRECTIONS: tuple[OneDirection, ...] = get_args(OneDirection)

BEGIN, END = 0, 1


class Document(NamedTuple):
    """Sentences that follow each other; the state is carried from one to the next."""

    words: Numbers
    """The numbers of all words, without marks."""
    lengths: Numbers
    """How many words each sentence has."""

    @property
    def tokens(self) -> int:
        """How many items each direction predicts: every word, and one mark a sentence."""
        return len(self.words) + len(self.lengths)

    def stream(self, direction: OneDirection) -> tuple[Numbers, Numbers]:
        """Give what a direction reads and what it predicts from each item, as in training.

        Forward reads ``<S> w1 … wn`` of every sentence and predicts ``w1 … wn </S>``: the mark
        that it predicts last is never read. Backward is the mirror image of the whole document,
        so its first sentence comes last.
        """
        words, lengths, read, predicted = self.words, self.lengths, BEGIN, END
        if direction == "backward":
            words, lengths, read, predicted = words[::-1], lengths[::-1], END, BEGIN
        ends = np.cumsum(lengths)
        return np.insert(words, ends - lengths, read), np.insert(words, ends, predicted)


class NumberedText:
    """Documents over one list of distinct words: four bytes a word, however long the text."""

    def __init__(self, marks: Marks) -> None:
        self.words = [marks.begin, marks.end]
        """The distinct words; the marks have the numbers `BEGIN` and `END`."""
        self.documents: list[Document] = []
        self.bytes = 0
        """Size of the sentences in UTF-8, one line end each."""
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def add(self, sentences: Sequence[Sequence[str]], *, size: int = 0) -> None:
        """Append a document of tokenised sentences that takes ``size`` bytes as text."""
        if not sentences:
            return
        words = [self._number(word) for sentence in sentences for word in sentence]
        self.documents.append(
            Document(
                np.array(words, dtype=np.int32),
                np.array([len(sentence) for sentence in sentences], dtype=np.int32),
            )
        )
        self.bytes += size

    @property
    def tokens(self) -> int:
        """How many items each direction predicts."""
        return sum(document.tokens for document in self.documents)

    def as_one_document(self) -> list[Document]:
        """Give the whole text as one document."""
        if not self.documents:
            return []
        return [Document(*(np.concatenate(parts) for parts in zip(*self.documents, strict=True)))]

    def as_sentences(self) -> list[Document]:
        """Give every sentence as a document of its own."""
        return [
            Document(words, np.array([len(words)], dtype=np.int32))
            for document in self.documents
            for words in np.split(document.words, np.cumsum(document.lengths)[:-1])
        ]

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number
