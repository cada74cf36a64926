"""The biLM's input layer: what one token is, before any context.

N tokens, C characters in a row, P size of the token vector
"""

from itertools import repeat
from typing import cast

import torch
from torch import Tensor, nn

from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.row_blocks import blocks, joined, pad_rows


class TokenEncoder(nn.Module):
    """Word embedding and character CNN, either or both, then an optional linear projection."""

    def __init__(
        self,
        *,
        characters: CharacterCNN | None = None,
        words: nn.Embedding | None = None,
        projection_dim: int | None = None,
    ) -> None:
        super().__init__()
        if characters is None and words is None:
            raise ValueError("a token encoder needs characters, words or both")
        self.characters = characters
        self.words = words
        features = (words.embedding_dim if words else 0) + (
            characters.output_dim if characters else 0
        )
        self.projection = nn.Linear(features, projection_dim) if projection_dim else None
        self.output_dim = projection_dim or features
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=features**-0.5)
            nn.init.zeros_(self.projection.bias)

    def forward(self, character_ids: Tensor | None, word_ids: Tensor | None) -> Tensor:
        """Map character ids (N, C) and/or word ids (N,) to token vectors (N, P)."""
        count = len(character_ids if character_ids is not None else cast(Tensor, word_ids))
        parts = (
            repeat(None) if ids is None else blocks(pad_rows(ids))
            for ids in (character_ids, word_ids)
        )
        vectors = [self._encode(*part) for part in zip(*parts, strict=False)]
        return joined(vectors)[:count]

    def _encode(self, character_ids: Tensor | None, word_ids: Tensor | None) -> Tensor:
        features = []
        if self.words is not None:
            assert word_ids is not None, "this model reads word ids"
            features.append(self.words(word_ids))
        if self.characters is not None:
            assert character_ids is not None, "this model reads character ids"
            features.append(self.characters(character_ids))
        vectors = features[0] if len(features) == 1 else torch.cat(features, dim=1)
        return vectors if self.projection is None else cast(Tensor, self.projection(vectors))
