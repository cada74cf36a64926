"""What a model reads of a token: its character ids, its word id, or both."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from elmokit.config import ModelConfig
from elmokit.text.chars import ByteAlphabet, DictionaryAlphabet, Ids
from elmokit.text.vocabulary import Vocabulary


class TokenIds(NamedTuple):
    """The ids of N tokens."""

    characters: Ids | None
    """(N, C), or None for a model without characters."""
    words: npt.NDArray[np.int64] | None
    """(N,), or None for a model without word input."""


class TokenIndexer:
    """Turns words into the ids that a model's token encoder reads."""

    def __init__(
        self,
        *,
        alphabet: ByteAlphabet | DictionaryAlphabet | None,
        vocabulary: Vocabulary | None,
        longest_word: int | None = None,
    ) -> None:
        self.alphabet = alphabet
        self.vocabulary = vocabulary
        self.longest_word = longest_word

    @classmethod
    def for_model(
        cls,
        config: ModelConfig,
        *,
        vocabulary: Vocabulary | None,
        characters: Sequence[str] | None,
    ) -> Self:
        """Make the indexer that a model with this config was trained with."""
        alphabet: ByteAlphabet | DictionaryAlphabet | None = None
        if config.characters is not None:
            limit = config.characters.max_characters
            if config.characters.alphabet == "bytes":
                alphabet = ByteAlphabet(max_characters=limit, marks=config.marks)
            else:
                alphabet = DictionaryAlphabet(
                    characters or (), max_characters=limit, marks=config.marks
                )
        return cls(
            alphabet=alphabet,
            vocabulary=vocabulary if config.words is not None else None,
            longest_word=config.words.longest_word if config.words is not None else None,
        )

    def ids(self, words: Sequence[str]) -> TokenIds:
        """Give the ids of ``words``; sentence marks are written as the model writes them."""
        characters = None if self.alphabet is None else self.alphabet.encode(words)
        if self.vocabulary is None:
            return TokenIds(characters, None)
        if self.longest_word is not None:
            words = [word[: self.longest_word] for word in words]
        return TokenIds(characters, self.vocabulary.ids(words))
