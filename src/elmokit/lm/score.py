"""How likely a sentence is, and each of its tokens, in both directions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from elmokit.errors import InputError
from elmokit.lm.language_model import DEFAULT_BATCH_TOKENS, Doubles, LanguageModel, LanguageStart
from elmokit.lm.numbered_text import DIRECTIONS, NumberedText

Direction = Literal["both", "forward", "backward"]


@dataclass(frozen=True)
class SentenceScore:
    """The log-probabilities (natural logarithm) of one sentence of n tokens."""

    tokens: tuple[str, ...]
    """What was scored, without marks."""
    unknown: tuple[bool, ...]
    """For each token whether it is outside the vocabulary and counts as the unknown mark."""
    forward: tuple[float, ...] | None
    """n+1 numbers: each token after those before it, and last the mark at the sentence's end.
    None where this direction was not asked for."""
    backward: tuple[float, ...] | None
    """n+1 numbers: each token before those after it, and last the mark at the sentence's
    beginning, so that number i belongs to token i in both directions."""
    unknown_cost: float = 0.0
    """What an unknown word costs beside its mark where sentences are compared."""

    @property
    def forward_log_probability(self) -> float | None:
        """The sentence's log-probability in the forward direction."""
        return None if self.forward is None else math.fsum(self.forward)

    @property
    def backward_log_probability(self) -> float | None:
        """The sentence's log-probability in the backward direction."""
        return None if self.backward is None else math.fsum(self.backward)

    @property
    def log_probability(self) -> float:
        """The mean of the directions' log-probabilities.

        Each direction alone is a model of the whole sentence, so this is their geometric mean.
        """
        asked = [total for total in self._totals() if total is not None]
        return math.fsum(asked) / len(asked)

    @property
    def comparable_log_probability(self) -> float:
        """The log-probability to rank sentences by, less ``unknown_cost`` for each unknown word.

        The unknown mark stands for very many words at once and would outdo every rare word.
        Here each of them is counted as one of as many unknown words as there are known ones.
        """
        return self.log_probability - sum(self.unknown) * self.unknown_cost

    @property
    def perplexity(self) -> float:
        """``exp`` of the mean loss of the n+1 items that are predicted."""
        return float(np.exp(-self.log_probability / (len(self.tokens) + 1)))

    @property
    def surprisals(self) -> tuple[float, ...]:
        """The n+1 losses in bits, the mean of the directions asked for; the marks' come last."""
        asked = [part for part in (self.forward, self.backward) if part is not None]
        return tuple(
            -math.fsum(values) / len(values) / math.log(2) for values in zip(*asked, strict=True)
        )

    def _totals(self) -> tuple[float | None, float | None]:
        return self.forward_log_probability, self.backward_log_probability


def checked_direction(direction: str) -> Direction:
    """Refuse an unknown direction by name."""
    if direction not in get_args(Direction):
        raise InputError(
            f"direction: expected one of {', '.join(get_args(Direction))}, found {direction!r}"
        )
    return cast(Direction, direction)


def score(
    model: LanguageModel,
    sentences: Sequence[Sequence[str]],
    *,
    direction: Direction = "both",
    start: LanguageStart = "warm",
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
) -> list[SentenceScore]:
    """Score tokenised sentences, each alone from the start state.

    A sentence without tokens is scored by its mark alone.
    """
    checked_direction(direction)
    text = NumberedText(model.marks)
    for sentence in sentences:
        text.add([sentence])
    scored: dict[str, list[Doubles]] = {}
    for one in DIRECTIONS:
        if direction not in ("both", one):
            continue
        found = [np.zeros(document.tokens) for document in text.documents]
        for part in model.losses(
            text.words, text.documents, one, start=start, batch_tokens=batch_tokens
        ):
            found[part.document][part.first : part.first + len(part.values)] = -part.values
        scored[one] = found
    if "backward" in scored:  # from the order of reading to that of the tokens
        scored["backward"] = [np.append(row[-2::-1], row[-1]) for row in scored["backward"]]
    return [
        SentenceScore(
            tokens=tuple(sentence),
            unknown=tuple(model.is_unknown(sentence).tolist()),
            forward=tuple(scored["forward"][row].tolist()) if "forward" in scored else None,
            backward=tuple(scored["backward"][row].tolist()) if "backward" in scored else None,
            unknown_cost=math.log(len(model.vocabulary)),
        )
        for row, sentence in enumerate(sentences)
    ]
