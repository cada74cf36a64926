"""Modified Kneser-Ney written down a second time, from the formulas, one n-gram at a time.

Chen and Goodman (1999), equations 26 and 27 and section 4.1.6; counts as in Heafield et al.
(2013), section 3: raw for the highest order and at a sentence's begin, else the number of
different words that come before.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"
Gram = tuple[str, ...]


class SlowKneserNey:
    def __init__(self, sentences: Sequence[Sequence[str]], vocabulary: set[str], order: int):
        self.vocabulary, self.order = vocabulary, order
        raw: Counter[Gram] = Counter()
        before: dict[Gram, set[str]] = defaultdict(set)
        for sentence in sentences:
            known = [w if w in vocabulary else UNKNOWN for w in sentence]
            words = (BEGIN, *known, END)
            for end in range(1, len(words) + 1):
                for length in range(1, min(order, end) + 1):
                    gram = words[end - length : end]
                    raw[gram] += 1
                    if end > length:
                        before[gram].add(words[end - length - 1])
        self.counts = {
            gram: count if len(gram) == order or gram[0] == BEGIN else len(before[gram])
            for gram, count in raw.items()
            if gram != (BEGIN,)
        }
        self.discounts = {length: self._discounts(length) for length in range(1, order + 1)}
        self.followers: dict[Gram, list[Gram]] = defaultdict(list)
        for gram in self.counts:
            self.followers[gram[:-1]].append(gram)
        self.probability = cache(self._probability)

    def _discounts(self, length: int) -> tuple[float, float, float]:
        t = Counter(count for gram, count in self.counts.items() if len(gram) == length)
        if not (t[1] and t[2] and t[3]):
            return 0.5, 1.0, 1.5
        y = t[1] / (t[1] + 2 * t[2])
        found = 1 - 2 * y * t[2] / t[1], 2 - 3 * y * t[3] / t[2], 3 - 4 * y * t[4] / t[3]
        if any(not 0 < d <= k for k, d in enumerate(found, start=1)):
            return 0.5, 1.0, 1.5
        return found

    def _discount(self, gram: Gram) -> float:
        return self.discounts[len(gram)][min(self.counts[gram], 3) - 1]

    def _probability(self, word: str, context: Gram) -> float:
        """Give p(word | context) by the recursion itself, for a context of any length."""
        context = context[len(context) - min(len(context), self.order - 1) :]
        if word == BEGIN:
            return 0.0
        followers = self.followers.get(context, [])
        lower = self.probability(word, context[1:]) if context else 1 / (len(self.vocabulary) - 1)
        if not followers:
            return lower
        total = sum(self.counts[gram] for gram in followers)
        backoff = sum(self._discount(gram) for gram in followers) / total
        gram = (*context, word)
        own = (self.counts[gram] - self._discount(gram)) / total if gram in self.counts else 0.0
        return own + backoff * lower
