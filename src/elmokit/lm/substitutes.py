"""Which words fit into a gap, judged from both of its sides.

V vocabulary
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.lm.gap import Gap
from elmokit.lm.language_model import Context, Doubles, LanguageModel, LanguageStart
from elmokit.lm.score import Direction, SentenceScore, score

DEFAULT_COUNT = 10
DEFAULT_PRIOR = 1.0
SHORTLIST = 100


@dataclass(frozen=True)
class Substitute:
    """A word, or several, in the place of the gap."""

    word: str
    probability: float
    """Its share among all the words that were compared."""
    forward_log_probability: float | None
    """Of the word after what stands on its left; None where the direction was not asked for."""
    backward_log_probability: float | None
    """Of the word before what stands on its right."""
    log_probability: float | None
    """Of the whole sentence with the word in it, as `SentenceScore.log_probability`;
    None where the sentences were not scored."""
    unknown: bool = False
    """Whether a part of it is outside the vocabulary and counts as the unknown mark."""


def substitutes(
    model: LanguageModel,
    gap: Gap,
    *,
    count: int = DEFAULT_COUNT,
    prior: float = DEFAULT_PRIOR,
    rescore: bool = True,
    start: LanguageStart = "warm",
) -> list[Substitute]:
    """Give the ``count`` words of the vocabulary that fit the gap best, the best first.

    Words are ordered by ``log p(word | left) + log p(word | right) - prior * log p(word)``; with
    ``rescore`` the best hundred are then put into the sentence, which is scored as a whole. Marks
    and the word that stands in the gap are left out.
    """
    if not isinstance(count, int) or count < 1:
        raise InputError(f"count: expected a whole number above 0, found {count!r}")
    if not math.isfinite(prior):
        raise InputError(f"prior: expected a finite number, found {prior!r}")
    if not rescore:
        return shortlists(model, [gap], [count], prior=prior, start=start)[0]
    (found,) = shortlists(model, [gap], [max(count, SHORTLIST)], prior=prior, start=start)
    return fill(model, gap, [[one.word] for one in found], start=start)[:count]


def shortlists(
    model: LanguageModel,
    gaps: Sequence[Gap],
    counts: Sequence[int],
    *,
    prior: float = DEFAULT_PRIOR,
    start: LanguageStart = "warm",
) -> list[list[Substitute]]:
    """Give for each of several gaps what `substitutes` gives without ``rescore``."""
    contexts = []
    for gap in gaps:
        contexts.append(Context("forward", [model.marks.begin, *gap.left]))
        contexts.append(Context("backward", [model.marks.end, *gap.right[::-1]]))
    predicted = model.next_words(contexts, start=start)
    log_prior = _log_prior(len(model.vocabulary))  # (V,)
    found = []
    for gap, count, forward, backward in zip(gaps, counts, predicted, predicted, strict=True):
        fit = forward + backward - prior * log_prior  # (V,)
        fit[~_allowed(model, gap)] = -np.inf
        total = _log_of_sum(fit)
        found.append(
            [
                Substitute(
                    model.vocabulary.words[index],
                    math.exp(fit[index] - total),
                    float(forward[index]),
                    float(backward[index]),
                    None,
                )
                for index in _largest(fit, count)
            ]
        )
    return found


def fill(
    model: LanguageModel,
    gap: Gap,
    candidates: Sequence[Sequence[str]],
    *,
    direction: Direction = "both",
    start: LanguageStart = "warm",
) -> list[Substitute]:
    """Compare tokenised candidates by the score of the whole sentence, the best first.

    Sentences are compared by `SentenceScore.comparable_log_probability`. Probabilities are shares
    among the candidates. A candidate may have several tokens.
    """
    if not candidates:
        raise InputError("candidates: expected at least one word, found none")
    for candidate in candidates:
        if not candidate:
            raise InputError("candidates: expected words, found an empty one")
    distinct = list(dict.fromkeys(tuple(candidate) for candidate in candidates))
    scores = score(
        model,
        [gap.filled(candidate) for candidate in distinct],
        direction=direction,
        start=start,
    )
    return ranked(gap, distinct, scores)


def ranked(
    gap: Gap, candidates: Sequence[Sequence[str]], scores: Sequence[SentenceScore]
) -> list[Substitute]:
    """Order distinct candidates by the scores of the sentence with each of them, the best first."""
    totals = np.array([scored.comparable_log_probability for scored in scores])
    shares = np.exp(totals - np.logaddexp.reduce(totals))
    first = len(gap.left)
    filled = []
    for candidate, scored, share in zip(candidates, scores, shares, strict=True):
        place = slice(first, first + len(candidate))
        forward, backward = (
            None if part is None else math.fsum(part[place])
            for part in (scored.forward, scored.backward)
        )
        filled.append(
            Substitute(
                " ".join(candidate),
                float(share),
                forward,
                backward,
                scored.log_probability,
                any(scored.unknown[place]),
            )
        )
    return sorted(filled, key=lambda substitute: -substitute.probability)


def _allowed(model: LanguageModel, gap: Gap) -> npt.NDArray[np.bool_]:
    """Say of each id of the vocabulary (V,) whether it may be put into the gap."""
    vocabulary, marks = model.vocabulary, model.marks
    barred = [marks.begin, marks.end, marks.unknown, gap.word or marks.unknown]
    allowed = vocabulary.is_own_id.copy()
    allowed[vocabulary.ids([word for word in barred if word in vocabulary])] = False
    return allowed


def _largest(fit: Doubles, count: int) -> npt.NDArray[np.int64]:
    """Give the places of the ``count`` largest finite numbers, the largest first."""
    # Those that may be among them, before they are sorted: there are far fewer of them.
    least = np.partition(fit, -count)[-count] if count < len(fit) else -np.inf
    places = np.flatnonzero((fit >= least) & (fit > -np.inf))
    return places[np.argsort(-fit[places], kind="stable")][:count]


def _log_of_sum(values: Doubles) -> float:
    """Give ``log(sum(exp(values)))``, infinitely small ones included."""
    largest = float(values.max())
    return largest + math.log(np.exp(values - largest).sum()) if largest > -math.inf else largest


def _log_prior(size: int) -> Doubles:
    """Give log p (V,) of the words alone, as training draws them: by rank, most frequent first."""
    ranks = np.arange(size, dtype=np.float64)
    log_prior: Doubles = np.log(np.log1p(1 / (ranks + 1)) / math.log(size + 1))
    return log_prior
