"""How long the line before a device may be, as its batches show.

A batch costs so much for each of its steps, for which all weights are read, and so much for each
of its tokens. A line with tokens for several times the former makes batches that lose little by
it; a longer one makes people wait, and wins nothing more. Both costs are fitted to the batches of
the server itself, since what is measured at the start may be wrong: others use the machine too.
"""

# Steps of a batch: about as many tokens as sentences have, marks included.
STEPS = 26
# Tokens in line are worth this many times the steps of a batch.
TIMES_STEPS = 5.0
# As parts of the largest batch.
SHORTEST, LONGEST = 1 / 8, 2.0
# Of what was known before a batch, so much still counts after it.
MEMORY = 0.95
# Batches that are all alike do not tell steps from tokens: what was known before is kept.
LEAST_DIFFERENCE = 0.1


class LineLength:
    """Fits ``seconds = steps * a + tokens * b`` to batches, the latest counting most.

    Errors are counted as parts of a batch's time. A batch that was held up by something else then
    counts for little, however long it took, and a machine that is slower for all does not matter.
    """

    def __init__(self, *, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self.tokens = batch_tokens
        """What may wait, in tokens that are embedded."""
        self._steps_steps = self._steps_tokens = self._tokens_tokens = 0.0
        self._steps = self._tokens = 0.0

    def learn(self, *, steps: int, tokens: int, seconds: float) -> None:
        """Take a batch into account, of which the longest item had so many steps."""
        if seconds <= 0:
            return
        x, y = steps / seconds, tokens / seconds
        self._steps_steps = MEMORY * self._steps_steps + x * x
        self._steps_tokens = MEMORY * self._steps_tokens + x * y
        self._tokens_tokens = MEMORY * self._tokens_tokens + y * y
        self._steps = MEMORY * self._steps + x
        self._tokens = MEMORY * self._tokens + y
        both = self._steps_steps * self._tokens_tokens
        if both - self._steps_tokens**2 < LEAST_DIFFERENCE * both:
            return
        # Both costs times the same positive number, of which the quotient is free.
        of_steps = self._steps * self._tokens_tokens - self._tokens * self._steps_tokens
        of_tokens = self._tokens * self._steps_steps - self._steps * self._steps_tokens
        longest, shortest = LONGEST * self._batch_tokens, SHORTEST * self._batch_tokens
        wanted = TIMES_STEPS * STEPS * of_steps / of_tokens if of_tokens > 0 else longest
        self.tokens = round(min(max(wanted, shortest), longest))
