"""Probabilities for many requests at once: sentences that are scored, gaps that are filled."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from elmokit.embed.elmo import Elmo
from elmokit.lm.gap import Gap
from elmokit.lm.score import Direction, SentenceScore, score
from elmokit.lm.substitutes import Substitute, substitutes
from elmokit.serve.work import Part


class Scoring:
    """Scores token lists of one direction, or both; a part gets a `SentenceScore` for each."""

    name = "score"

    def __init__(self, elmo: Elmo, direction: Direction) -> None:
        self._elmo = elmo
        self.device = str(elmo.device)
        self._direction = direction

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        sentences = [tokens for part in parts for tokens in part.items]
        scores = iter(
            score(
                self._elmo.language_model,
                sentences,
                direction=self._direction,
                start=_start(self._elmo),
            )
        )
        results = [[next(scores) for _ in part.items] for part in parts]
        return lambda: results


class Shortlist(NamedTuple):
    """A gap, and how many words of the vocabulary are wanted for it."""

    gap: Gap
    most: int


class Shortlisting:
    """Finds words for gaps, judged from the gap alone; a part gets a list for each of its items."""

    name = "substitutes"

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self.device = str(elmo.device)

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        results = [[self._found(item) for item in part.items] for part in parts]
        return lambda: results

    def _found(self, item: Shortlist) -> list[Substitute]:
        return substitutes(
            self._elmo.language_model,
            item.gap,
            count=item.most,
            rescore=False,
            start=_start(self._elmo),
        )


def ranked(
    gap: Gap, candidates: Sequence[Sequence[str]], scores: Sequence[SentenceScore]
) -> list[Substitute]:
    """Order candidates by the scores of the sentence with each of them, the best first.

    It is what `elmokit.lm.substitutes.fill` does in one go. Here the sentences are scored before,
    in batches with those of others.
    """
    totals = np.array([scored.comparable_log_probability for scored in scores])
    shares = np.exp(totals - np.logaddexp.reduce(totals))
    first = len(gap.left)
    found = []
    for candidate, scored, share in zip(candidates, scores, shares, strict=True):
        place = slice(first, first + len(candidate))
        assert scored.forward is not None
        assert scored.backward is not None
        found.append(
            Substitute(
                " ".join(candidate),
                float(share),
                math.fsum(scored.forward[place]),
                math.fsum(scored.backward[place]),
                scored.log_probability,
                any(scored.unknown[place]),
            )
        )
    return sorted(found, key=lambda one: -one.probability)


def _start(elmo: Elmo) -> Any:
    return "zeros" if elmo.start == "zeros" else "warm"
