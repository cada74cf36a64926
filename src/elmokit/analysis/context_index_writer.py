"""The files of an index that grow with its corpus.

n tokens of a sentence, D size of a vector
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from elmokit.analysis.context_index_layout import (
    OCCURRENCES_FILE,
    SENTENCES_FILE,
    STARTS_FILE,
    VECTORS_FILE,
    word_hash,
)
from elmokit.corpus.arrays import ArrayWriter
from elmokit.embed.layer_choice import Vectors
from elmokit.embed.similarity import normalised
from elmokit.text.tokenise import Token


def unit_rows(vectors: Vectors) -> npt.NDArray[np.float16]:
    """Give vectors (n, D) the length 1, in half the bytes."""
    half: npt.NDArray[np.float16] = normalised(torch.from_numpy(vectors)).half().numpy()
    return half


class IndexWriter:
    """Writes sentences with their tokens and vectors into a folder, one after another."""

    def __init__(self, folder: Path, dim: int) -> None:
        self.occurrences = self.sentences = 0
        self._bytes = 0
        self._vectors = ArrayWriter(folder / VECTORS_FILE, np.float16, row=dim)
        self._occurrences = ArrayWriter(folder / OCCURRENCES_FILE, np.uint32, row=4)
        self._starts = ArrayWriter(folder / STARTS_FILE, np.int64)
        self._text = (folder / SENTENCES_FILE).open("wb")

    def write(self, text: str, tokens: list[Token], vectors: Vectors) -> None:
        """Write a sentence and its tokens with their vectors (n, D); one without is left out."""
        if not tokens:
            return
        rows = [(self.sentences, token.start, token.end, word_hash(token.text)) for token in tokens]
        self._occurrences.append(np.array(rows, dtype=np.uint32))
        self._vectors.append(unit_rows(vectors))
        self._starts.append(np.array([self._bytes]))
        encoded = text.encode() + b"\n"
        self._text.write(encoded)
        self._bytes += len(encoded)
        self.sentences += 1
        self.occurrences += len(tokens)

    def close(self) -> None:
        """Finish all files."""
        self._starts.append(np.array([self._bytes]))
        for array in (self._vectors, self._occurrences, self._starts):
            array.close()
        self._text.close()
