"""Every word form of the data once, with all that input vectors need to know of it.

F forms met so far, C characters of a form
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Of longer words the CNN sees the beginning.
MOST_CHARACTERS = 32
# Ids of characters: their UTF-8 bytes, marks around the word, padding.
BEGIN, END, PADDING = 256, 257, 258
ALPHABET_SIZE = 259

UNKNOWN = 0

_DIGIT = re.compile(r"\d")


class Forms(NamedTuple):
    """What is known of each form."""

    vectors: Tensor
    """(F,): the number of its static vector, `UNKNOWN` where it has none."""
    lowered: Tensor
    """(F,): the form it is in lower case."""
    spellings: Tensor
    """(F, C): its characters, in uint16-sized numbers."""


class Lexicon:
    """Word forms by number. ``words`` have static vectors 1, 2, ...; 0 is for all others."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = {word: number for number, word in enumerate(words, start=1)}
        self._numbers: dict[str, int] = {}
        self._vectors: list[int] = []
        self._lowered: list[int] = []
        self._spellings: list[npt.NDArray[np.int64]] = []
        self._forms: Forms | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
        """Give the number of each token's form; new ones get the next."""
        try:
            return np.fromiter(map(self._numbers.__getitem__, tokens), np.int64, len(tokens))
        except KeyError:
            for token in tokens:
                if token not in self._numbers:
                    self._add(token)
            return self.numbers(tokens)

    def forms(self, device: torch.device) -> Forms:
        """Give what is known of all forms met so far, on a device."""
        forms = self._forms
        if forms is None or len(forms.vectors) != len(self) or forms.vectors.device != device:
            forms = Forms(
                torch.tensor(self._vectors, dtype=torch.int64).to(device),
                torch.tensor(self._lowered, dtype=torch.int64).to(device),
                torch.from_numpy(np.stack(self._spellings)).to(device),
            )
            self._forms = forms
        return forms

    def _add(self, token: str) -> None:
        lowered = token.lower()
        if lowered != token and lowered not in self._numbers:
            self._add(lowered)
        number = len(self._numbers)
        self._numbers[token] = number
        self._lowered.append(self._numbers[lowered])
        spelled = (token, lowered, with_zeros(lowered))
        self._vectors.append(next(filter(None, map(self.words.get, spelled)), UNKNOWN))
        self._spellings.append(_spelling(token))


def learnt_words(
    texts: Iterable[Sequence[str]], known: Iterable[str], *, min_count: int
) -> list[str]:
    """List words, in lower case, that occur often enough in the training data and have no vector.

    Words that differ in digits alone are one. The most frequent come first.
    """
    unlisted = Counter(token.lower() for tokens in texts for token in tokens)
    counts: Counter[str] = Counter()
    known = set(known)
    for word, count in unlisted.items():
        if word not in known and with_zeros(word) not in known:
            counts[with_zeros(word)] += count
    kept = [
        (word, count)
        for word, count in counts.items()
        if count >= min_count and _can_be_listed(word)
    ]
    return [word for word, _ in sorted(kept, key=lambda pair: (-pair[1], pair[0]))]


def with_zeros(word: str) -> str:
    """Write every digit as 0, so that dates, results and prices that were never met have a vector.

    So it is done since Collobert et al. (2011), section 4.1.
    """
    return _DIGIT.sub("0", word)


def _can_be_listed(word: str) -> bool:
    """Say whether a list with a word a line, as a saved model has one, can hold a word."""
    return "\n" not in word and not any("\ud800" <= letter <= "\udfff" for letter in word)


def _spelling(token: str) -> npt.NDArray[np.int64]:
    spelled = np.full(MOST_CHARACTERS, PADDING, dtype=np.int64)
    characters = token.encode("utf-8", errors="surrogatepass")[: MOST_CHARACTERS - 2]
    spelled[: len(characters) + 2] = [BEGIN, *characters, END]
    return spelled
