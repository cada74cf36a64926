"""One vector for a whole sentence, and the forms that `Elmo.encode` gives it in.

B sentences, n tokens of a sentence, D size of a vector
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.embed.similarity import normalised
from elmokit.errors import InputError

POOLINGS = ("mean", "max")
OUTPUT_VALUES = ("sentence_embedding", "token_embeddings")


def check_encode(*, layers: Layers, pooling: str, output_value: str, batch_size: int) -> None:
    """Refuse wrong arguments before any work is done."""
    if pooling not in POOLINGS:
        raise InputError(f"pooling: expected 'mean' or 'max', found {pooling!r}")
    if output_value not in OUTPUT_VALUES:
        raise InputError(
            "output_value: expected 'sentence_embedding' or 'token_embeddings', "
            f"found {output_value!r}"
        )
    if isinstance(layers, str) and layers == "all":
        raise InputError("layers: encode pools one vector per token, found 'all'")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch_size: expected a whole number above 0, found {batch_size!r}")


def encoded(
    embedded: Iterable[Vectors],
    *,
    dim: int,
    pooling: str | None,
    normalise: bool,
    as_tensor: bool,
    as_array: bool,
) -> Any:
    """Pool sentences (n, D) into (B, D), or with ``pooling=None`` give each as a tensor.

    ``as_tensor`` wins over ``as_array``; with neither it is a list of tensors (D,).
    """
    if pooling is None:
        return [torch.from_numpy(vectors) for vectors in embedded]
    rows = [pooled(vectors, pooling) for vectors in embedded]
    joined = np.stack(rows) if rows else np.zeros((0, dim), dtype=np.float32)  # (B, D)
    if normalise:
        joined = normalised(torch.from_numpy(joined)).numpy()
    if as_tensor:
        return torch.from_numpy(joined)
    return joined if as_array else list(torch.from_numpy(joined))


def pooled(vectors: Vectors, pooling: str = "mean") -> Vectors:
    """Pool (n, D) into (D,), zeros for a sentence without tokens."""
    if not len(vectors):
        return np.zeros(vectors.shape[1], dtype=np.float32)
    found: Vectors = vectors.mean(axis=0) if pooling == "mean" else vectors.max(axis=0)
    return found
