"""Tokens to character ids as AllenNLP makes them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from elmokit.config import Marks
from elmokit.embed.sentences import check_sentences, token_lists
from elmokit.errors import InputError
from elmokit.text.chars import ByteAlphabet

CHARACTERS = 50


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Tensor:
    """Give the character ids (sentences, tokens, 50) of token lists, 0 where there is no token."""
    check_sentences(batch)
    alphabet = ByteAlphabet(max_characters=CHARACTERS, marks=Marks())
    sentences = list(token_lists(batch, _refuse))
    longest = max(map(len, sentences), default=0)
    ids = torch.zeros(len(sentences), longest, CHARACTERS, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        if sentence:
            ids[row, : len(sentence)] = torch.from_numpy(alphabet.encode(sentence)).long() + 1
    return ids


def _refuse(text: str) -> list[str]:
    raise InputError(f"batch: expected token lists, found the raw string {text!r}")
