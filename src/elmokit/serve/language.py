"""Probabilities for many requests at once: sentences that are scored, gaps that are filled."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from elmokit.embed.elmo import Elmo
from elmokit.lm.gap import Gap
from elmokit.lm.score import Direction, score
from elmokit.lm.substitutes import shortlists
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
        asked = [item for part in parts for item in part.items]
        found = iter(
            shortlists(
                self._elmo.language_model,
                [item.gap for item in asked],
                [item.most for item in asked],
                start=_start(self._elmo),
            )
        )
        results = [[next(found) for _ in part.items] for part in parts]
        return lambda: results


def _start(elmo: Elmo) -> Any:
    return "zeros" if elmo.start == "zeros" else "warm"
