"""What a model's token encoder reads of every distinct word of a corpus.

K distinct words, C characters in a row, U distinct words of a window
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.engine.word_encoder import encode_words, group_widths
from elmokit.nn.token_encoder import TokenEncoder
from elmokit.text.token_indexer import TokenIndexer

WORDS_AT_ONCE = 2**16


class WordTable:
    """Character rows and word ids by the number of a distinct word, on one device.

    Words belong to groups by the length of their spelling, because the character CNN takes
    words of like length together.
    """

    def __init__(
        self,
        words: Sequence[str],
        indexer: TokenIndexer,
        encoder: TokenEncoder,
        *,
        device: torch.device | str = "cpu",
    ) -> None:
        characters, word_ids = [], []
        for first in range(0, len(words), WORDS_AT_ONCE):
            ids = indexer.ids(words[first : first + WORDS_AT_ONCE])
            if ids.characters is not None:
                characters.append(torch.from_numpy(ids.characters))
            if ids.words is not None:
                word_ids.append(torch.from_numpy(ids.words))
        self.characters = self.word_ids = None
        lengths = np.zeros(len(words), dtype=np.int64)
        row = 0
        if characters:
            rows = torch.cat(characters)  # (K, C)
            row = rows.shape[1]
            padding = rows == rows[:, -1:]  # the last character of a row that is not full
            # From the end, how many characters are padding; a full row has one at most.
            lengths = row - padding.flip(1).int().cumprod(dim=1).sum(dim=1).numpy()
            self.characters = rows.to(torch.int16).to(device)
        if word_ids:
            self.word_ids = torch.cat(word_ids).to(device)  # (K,)
        self.widths = group_widths(encoder, row)
        longest = np.array([length for length, _ in self.widths])
        self._group_of = np.searchsorted(longest, lengths).astype(np.int8)  # (K,)

    def grouped(
        self, words: npt.NDArray[np.int64]
    ) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
        """Sort distinct words (U,) into groups; give them and each word's place among all."""
        group = self._group_of[words]
        order = np.argsort(group, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        counts = np.bincount(group, minlength=len(self.widths))
        return np.split(words[order], np.cumsum(counts)[:-1]), place

    def encode(self, encoder: TokenEncoder, groups: Sequence[Tensor]) -> Tensor:
        """Give the vectors (U, P) of the words in ``groups``, one group after another."""
        characters = None
        if self.characters is not None:
            characters = [
                self.characters[words, :width].long()
                for words, (_, width) in zip(groups, self.widths, strict=True)
            ]
        word_ids = None if self.word_ids is None else self.word_ids[torch.cat(list(groups))]
        return encode_words(encoder, characters, word_ids)

    def rows(self, groups: Sequence[Tensor]) -> tuple[Tensor | None, Tensor | None]:
        """Give what the plain encoder reads of the same words: (U, C) characters, (U,) ids."""
        words = torch.cat(list(groups))
        characters = None if self.characters is None else self.characters[words].long()
        return characters, None if self.word_ids is None else self.word_ids[words]
