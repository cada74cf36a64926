"""Texts of a batch as numbers.

B texts, T tokens of the longest one
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.tasks.inputs.layer_store import LayerStore
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.task import Tokens

ABSENT = -1


class TextBatch(NamedTuple):
    """Texts of one role."""

    forms: Tensor
    """(B, T): the number of each token's form, `ABSENT` at padding."""
    layers: Tensor
    """(B, T): where each token's layers are kept; 0 where none are, and at padding."""
    tokens: Sequence[Tokens]
    """The texts themselves."""

    def to(self, device: torch.device) -> "TextBatch":
        """Bring the numbers to a device without waiting for it."""
        forms, layers = (part.to(device, non_blocking=True) for part in (self.forms, self.layers))
        return TextBatch(forms, layers, self.tokens)


def text_batch(texts: Sequence[Tokens], lexicon: Lexicon, store: LayerStore | None) -> TextBatch:
    """Number the tokens of texts."""
    longest = max(map(len, texts))
    forms = np.full((len(texts), longest), ABSENT, dtype=np.int64)
    layers = np.zeros((len(texts), longest), dtype=np.int64)
    for row, tokens in enumerate(texts):
        forms[row, : len(tokens)] = lexicon.numbers(tokens)
        if store is not None:
            first = store.place(tokens)
            layers[row, : len(tokens)] = np.arange(first, first + len(tokens))
    return TextBatch(torch.from_numpy(forms), torch.from_numpy(layers), texts)
