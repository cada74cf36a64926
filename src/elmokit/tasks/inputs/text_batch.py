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
# Texts of up to so many tokens are padded to a multiple of the number beside it; longer ones to
# one of the last.
ROUNDING = ((64, 8), (128, 16), (256, 32))
LONGEST_ROUNDING = 64


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


def in_capitals(text: Tokens) -> Tokens:
    """Write a text as headlines are written."""
    return tuple(token.upper() for token in text)


def text_batch(
    texts: Sequence[Tokens], lexicon: Lexicon, store: LayerStore | None, *, rounded: bool = False
) -> TextBatch:
    """Number the tokens of texts; with ``rounded`` they are padded to one of a few lengths."""
    longest = max(map(len, texts))
    if rounded:
        longest = _rounded(longest)
    forms = np.full((len(texts), longest), ABSENT, dtype=np.int64)
    layers = np.zeros((len(texts), longest), dtype=np.int64)
    for row, tokens in enumerate(texts):
        forms[row, : len(tokens)] = lexicon.numbers(tokens)
        if store is not None:
            first = store.place(tokens)
            layers[row, : len(tokens)] = np.arange(first, first + len(tokens))
    return TextBatch(torch.from_numpy(forms), torch.from_numpy(layers), texts)


def _rounded(length: int) -> int:
    step = next((step for most, step in ROUNDING if length <= most), LONGEST_ROUNDING)
    return -(-length // step) * step
