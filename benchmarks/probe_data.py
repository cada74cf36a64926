"""What the probes read, and the vectors that they look at.

L layers, n tokens, D size of a vector
"""

import json
import lzma
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import elmokit
from elmokit.embed.layer_choice import Vectors

Example = dict[str, Any]


def examples(file: Path, limit: int | None = None) -> list[Example]:
    """Read the first ``limit`` objects of a compressed file of JSON lines."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, limit)]


def token_vectors(
    elmo: elmokit.Elmo, sentences: Iterable[list[str]], *, batch_tokens: int
) -> Iterator[Vectors]:
    """Give (L, n, D) for each sentence; a token with spaces is the mean of its words."""
    sentences = list(sentences)
    words = [[word for token in tokens for word in token.split()] for tokens in sentences]
    embedded = elmo.embed_iter(words, layers="all", batch_tokens=batch_tokens)
    for tokens, vectors in zip(sentences, embedded, strict=True):
        counts = np.array([len(token.split()) for token in tokens])
        if (counts == 1).all():
            yield vectors
        else:
            starts = np.cumsum(counts) - counts
            means: Vectors = np.add.reduceat(vectors, starts, axis=1)  # (L, n, D)
            means /= counts[:, None]
            yield means
