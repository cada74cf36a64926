"""How much a server takes on: what is larger is refused before anything is computed."""

from dataclasses import dataclass, fields

from elmokit.errors import InputError

# Each item of a batch has a mark on both sides.
MARKS = 2
CHARACTERS_PER_TOKEN = 64


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on a request and on what waits."""

    body_bytes: int = 4 * 2**20
    """The body of a request."""
    inputs: int = 2048
    """Sentences of a request."""
    sentence_tokens: int = 1024
    """Tokens of a sentence; it is read word after word, so that no hardware makes it fast."""
    request_tokens: int = 65_536
    """Tokens of all sentences of a request, those that are made for it included."""
    answer_bytes: int = 128 * 2**20
    """An answer, as far as its size can be told before."""
    batch_tokens: int = 4096
    """Tokens that are computed together."""
    queue_requests: int = 512
    """Requests that wait; more are answered 429."""
    queue_tokens: int | None = None
    """Tokens that wait; more are answered 429, so that nobody waits for long. None: as many as the
    device's speed suggests."""

    @property
    def sentence_characters(self) -> int:
        """Characters of a sentence: cutting it into tokens must not take long either."""
        return CHARACTERS_PER_TOKEN * self.sentence_tokens

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{field.name}: expected a whole number above 0, found {value!r}")
        if self.sentence_tokens + MARKS > self.batch_tokens:
            raise InputError(
                f"sentence_tokens: a sentence and its {MARKS} marks must fit into a batch of "
                f"{self.batch_tokens} tokens, found {self.sentence_tokens}"
            )
