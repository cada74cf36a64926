"""How fast a device is, as its batches show, and what things cost beside plain embedding.

A token of one computation takes longer than of another: a softmax comes with it, or the search in
an index. Costs are counted in tokens that are embedded in large batches, so that batches and the
wait in line stay as long whatever is asked for.
"""

from elmokit.serve.work import Computation

# Of what was measured before a batch, so much still counts after it.
MEMORY = 0.8
# What a token of an unknown computation is taken for.
FIRST_GUESS = 3.0
LEAST, MOST = 0.1, 10_000.0
# Smaller batches say little about how fast embedding is.
SHARE_OF_BATCH = 8


class Pace:
    """Seconds and tokens of each computation, the latest counting most."""

    def __init__(self, *, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self._reference: Computation | None = None
        self._seconds: dict[Computation, float] = {}
        self._tokens: dict[Computation, float] = {}

    def learn_reference(self, computation: Computation, tokens: int, seconds: float) -> None:
        """Settle which computation the others are compared with."""
        self._reference = computation
        self._seconds[computation], self._tokens[computation] = seconds, tokens

    def learn(self, computation: Computation, tokens: int, seconds: float) -> None:
        """Take a batch into account."""
        if computation is self._reference and tokens * SHARE_OF_BATCH < self._batch_tokens:
            return
        self._seconds[computation] = MEMORY * self._seconds.get(computation, 0.0) + seconds
        self._tokens[computation] = MEMORY * self._tokens.get(computation, 0.0) + tokens

    def is_reference(self, computation: Computation) -> bool:
        """Whether the others are compared with this one."""
        return computation is self._reference

    def weight(self, computation: Computation) -> float:
        """Give what a token of a computation costs, in tokens of the reference."""
        if computation is self._reference:
            return 1.0
        known = self._seconds_per_token(computation)
        reference = self.seconds(1.0)
        if known is None or not reference:
            return FIRST_GUESS
        return min(max(known / reference, LEAST), MOST)

    def seconds(self, cost: float) -> float:
        """Give how long so many tokens of the reference take; 0 where nothing is known."""
        return cost * (self._seconds_per_token(self._reference) or 0.0)

    def _seconds_per_token(self, computation: Computation | None) -> float | None:
        if computation is None or not self._tokens.get(computation):
            return None
        return self._seconds[computation] / self._tokens[computation]
