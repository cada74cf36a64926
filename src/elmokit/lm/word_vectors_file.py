"""Static vectors from a text file (word2vec, GloVe, fastText) as a start for word input."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elmokit.errors import FormatError
from elmokit.text.vocabulary import Vocabulary


def read_word_vectors(file: Path, vocabulary: Vocabulary) -> tuple[dict[int, Tensor], int]:
    """Give the vectors of known words by id, and their size.

    A first line with two numbers, as word2vec writes it, is passed over.
    """
    found: dict[int, Tensor] = {}
    size = 0
    try:
        with file.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                fields = line.rstrip().split(" ")
                if number == 1 and len(fields) == 2:
                    continue
                size = size or len(fields) - 1
                if len(fields) - 1 != size or size < 1:
                    raise FormatError(
                        file, f"line {number}: wrong number of values", found=len(fields) - 1,
                        expected=size,
                    )  # fmt: skip
                if fields[0] in vocabulary:
                    values = np.array(fields[1:], dtype=np.float32)
                    found[int(vocabulary.ids([fields[0]])[0])] = torch.from_numpy(values)
    except (OSError, ValueError) as error:
        raise FormatError(file, f"cannot be read as word vectors ({error})") from error
    if not found:
        raise FormatError(file, "holds no word of the corpus", hint="use vectors of its language")
    return found, size
