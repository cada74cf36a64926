"""N-gram models in the ARPA text format, which kenlm, SRILM and others read.

V words, U n-grams of an order
"""

from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from elmokit.archives import packing
from elmokit.baselines.ngram_model import NgramModel
from elmokit.files import replacing_file

_PIECE = 2**18
# The usual way to write that the begin mark is never predicted.
_NEVER = -99.0


def write_arpa(model: NgramModel, file: str | Path) -> None:
    """Write a model with base-10 logarithms, marks as ``<s> </s> <unk>``; packed by its name."""
    destination = Path(file)
    marks = model.vocabulary.marks
    usual = {marks.begin: "<s>", marks.end: "</s>", marks.unknown: "<unk>"}
    names = np.array([usual.get(word, word) for word in model.vocabulary.words], dtype=object)
    with replacing_file(destination) as beside, packing(beside, destination.name) as stream:
        stream.write(b"\\data\\\n")
        for order, count in enumerate(model.ngram_counts, start=1):
            stream.write(f"ngram {order}={count}\n".encode())
        for order in range(1, model.order + 1):
            stream.write(f"\n\\{order}-grams:\n".encode())
            _write_order(model, order, names, stream)
        stream.write(b"\n\\end\\\n")


def _write_order(
    model: NgramModel, order: int, names: npt.NDArray[np.object_], stream: IO[bytes]
) -> None:
    level = model.levels[order - 1]
    for start in range(0, len(level.keys), _PIECE):
        numbers = np.arange(start, min(start + _PIECE, len(level.keys)))
        words = names[_words(model, order, numbers)]  # (U, order)
        with np.errstate(divide="ignore"):
            logs = np.log10(level.probabilities[numbers].astype(np.float64))
        logs[np.isneginf(logs)] = _NEVER
        backoffs = [""] * len(numbers)
        if len(level.backoffs):
            weights = np.log10(level.backoffs[numbers].astype(np.float64))
            backoffs = [f"\t{weight:.7g}" for weight in weights]
        lines = [
            f"{log:.7g}\t{' '.join(row)}{backoff}\n"
            for log, row, backoff in zip(logs, words, backoffs, strict=True)
        ]
        stream.write("".join(lines).encode("utf-8"))


def _words(model: NgramModel, order: int, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give the words (U, order) of n-grams by their numbers."""
    columns = []
    for level in reversed(model.levels[1:order]):
        numbers, last = np.divmod(level.keys[numbers], len(model.vocabulary))
        columns.append(last)
    columns.append(numbers)
    return np.stack(columns[::-1], axis=1)
