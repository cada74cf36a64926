"""The senses that a training text has for each word, and how often."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmokit.analysis.probes.sense_text import Lemma, SenseInstance, SenseSentence


@dataclass(frozen=True)
class LemmaSenses:
    """The senses of one word, the most frequent first."""

    keys: tuple[str, ...]
    numbers: npt.NDArray[np.intp]
    """Of its senses among all; no two words share one."""
    log_prior: npt.NDArray[np.float32]
    """Logarithm of each sense's share of the word's training occurrences."""


class SenseInventory:
    """The senses of a training text, each of which has a number."""

    def __init__(self, training: Iterable[SenseSentence]) -> None:
        counts: dict[Lemma, Counter[str]] = defaultdict(Counter)
        for sentence in training:
            for instance in sentence.instances:
                counts[instance.lemma].update(instance.keys)
        self.of_lemma: dict[Lemma, LemmaSenses] = {}
        self.size = 0
        """Senses of all words together."""
        for lemma, found in counts.items():
            keys, times = zip(*found.most_common(), strict=True)
            shares = np.array(times, dtype=np.float32) / sum(times)
            numbers = np.arange(self.size, self.size + len(keys), dtype=np.intp)
            self.of_lemma[lemma] = LemmaSenses(keys, numbers, np.log(shares))
            self.size += len(keys)

    def numbers_of(self, instance: SenseInstance) -> list[int]:
        """Give the numbers of an instance's own senses, which training must have."""
        senses = self.of_lemma[instance.lemma]
        return [int(senses.numbers[senses.keys.index(key)]) for key in instance.keys]

    def most_frequent(
        self, instance: SenseInstance, first_senses: Mapping[Lemma, str]
    ) -> str | None:
        """Give a word's most frequent sense in training; else its first one in WordNet."""
        senses = self.of_lemma.get(instance.lemma)
        return senses.keys[0] if senses else first_senses.get(instance.lemma)
