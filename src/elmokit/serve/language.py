"""Probabilities for many requests at once: sentences that are scored, gaps that are filled."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from elmokit.embed.elmo import Elmo
from elmokit.lm.gap import Gap
from elmokit.lm.score import Direction, score
from elmokit.lm.substitutes import SHORTLIST, Substitute, fill, substitutes
from elmokit.serve.limits import MARKS
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


class Filling(NamedTuple):
    """A gap and what may go into it."""

    gap: Gap
    most: int
    """How many words of the vocabulary are given."""
    candidates: list[list[str]] | None
    """Tokenised words to compare; None for those of the vocabulary that fit best."""
    rescore: bool = True
    """Whether the best of the vocabulary are put into the sentence, which is scored as a whole."""

    @property
    def tokens(self) -> int:
        """Tokens that are scored for it."""
        around = len(self.gap.left) + len(self.gap.right) + MARKS
        if self.candidates is None and not self.rescore:
            return around
        if self.candidates is None:
            return around + max(self.most, SHORTLIST) * (around + 1)
        return sum(around + len(candidate) for candidate in self.candidates)


class Substitution:
    """Fills gaps; a part gets a list of `Substitute` for each of its items."""

    name = "substitutes"

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self.device = str(elmo.device)

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        results = [[self._filled(item) for item in part.items] for part in parts]
        return lambda: results

    def _filled(self, item: Filling) -> list[Substitute]:
        model, start = self._elmo.language_model, _start(self._elmo)
        if item.candidates is None:
            return substitutes(model, item.gap, count=item.most, rescore=item.rescore, start=start)
        return fill(model, item.gap, item.candidates, start=start)


def _start(elmo: Elmo) -> Any:
    return "zeros" if elmo.start == "zeros" else "warm"
