"""What TensorFlow Hub's ELMo module gives, under its names.

B sentences, T tokens of the longest, n tokens of a sentence, P size of a direction, L LSTM layers
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.embed.encode import pooled
from elmokit.embed.layer_choice import Vectors


def tf_hub_outputs(
    embedded: Sequence[Vectors], *, layer_count: int, dim: int
) -> dict[str, npt.NDArray[Any]]:
    """Lay sentences (L+1, n, 2P) out side by side, zero at padding.

    ``word_emb`` (B, T, P) is the vector before context, ``lstm_outputs1``... (B, T, 2P) each
    layer, ``elmo`` (B, T, 2P) the mean of all layers, ``default`` (B, 2P) the mean of ``elmo``
    over the tokens of a sentence, ``sequence_len`` (B,) their number.
    """
    lengths = np.array([vectors.shape[1] for vectors in embedded], dtype=np.int32)
    layers = np.zeros(
        (layer_count, len(embedded), max(lengths, default=0), dim), dtype=np.float32
    )  # (L+1, B, T, 2P)
    for row, vectors in enumerate(embedded):
        layers[:, row, : vectors.shape[1]] = vectors
    mixed = layers.mean(axis=0)
    default = np.zeros((len(embedded), dim), dtype=np.float32)
    for row, length in enumerate(lengths):
        default[row] = pooled(mixed[row, :length])
    outputs = {f"lstm_outputs{number}": layer for number, layer in enumerate(layers[1:], start=1)}
    return {
        "word_emb": layers[0, :, :, : dim // 2].copy(),
        **outputs,
        "elmo": mixed,
        "default": default,
        "sequence_len": lengths,
    }
