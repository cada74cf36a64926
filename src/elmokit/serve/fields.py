"""The fields of a request, one by one: their types, their bounds, and what is wrong with them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.problems import RequestError, wrong_field
from elmokit.serve.served_model import ServedModel, shortened
from elmokit.text.tokenise import Token

FORMATS = ("float", "base64")


class Sentences(NamedTuple):
    """What a request asks about, tokenised."""

    words: list[list[str]]
    """The tokens as the model takes them."""
    tokens: list[list[Token]] | None
    """The tokens with their places, where raw text came and places were asked for."""
    given: list[list[str]] | None
    """The tokens as they came, where lists of them did."""

    @property
    def token_count(self) -> int:
        """Tokens of all sentences."""
        return sum(map(len, self.words))

    @property
    def costs(self) -> list[int]:
        """What each sentence costs a batch."""
        return [len(words) + MARKS for words in self.words]

    def described(self, number: int) -> list[dict[str, Any]]:
        """Give text and place of each token of a sentence."""
        if self.tokens is not None:
            return [token._asdict() for token in self.tokens[number]]
        assert self.given is not None
        return [{"text": text, "start": None, "end": None} for text in self.given[number]]


def check_names(values: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse fields that the route does not know; which, is not repeated."""
    if any(name not in known for name in values):
        raise RequestError(
            422,
            f"there is an unknown field; known here are {', '.join(known)}",
            code="unknown_field",
        )
    if "input" in known and "input" not in values:
        raise wrong_field("input", "this field, which is missing")


def text_inputs(value: Any, limits: Limits, *, lists: bool) -> list[str] | list[list[str]]:
    """Give the sentences of ``input``: one string, strings, or with ``lists`` lists of tokens."""
    kinds = "a string or a list of strings" + (", or a list of lists of tokens" if lists else "")
    if isinstance(value, str):
        check_characters([value], limits)
        return [value]
    if not isinstance(value, list):
        raise wrong_field("input", kinds)
    if not value:
        raise wrong_field("input", "at least one sentence in the list")
    if len(value) > limits.inputs:
        raise wrong_field("input", f"at most {limits.inputs} sentences", code="too_many_inputs")
    if all(isinstance(one, str) for one in value):
        check_characters(value, limits)
        return value
    if any(isinstance(one, int) for one in islice(_leaves(value), limits.inputs)):
        raise wrong_field("input", f"{kinds}; token ids of other models mean nothing here")
    if not lists or not all(isinstance(one, list) for one in value):
        raise wrong_field("input", kinds)
    check_lengths(value, limits)
    for tokens in value:
        check_tokens(tokens, "input")
    return value


def check_characters(texts: Iterable[str], limits: Limits) -> None:
    """Refuse texts that it would take long to cut into tokens."""
    for number, text in enumerate(texts):
        if len(text) > limits.sentence_characters:
            raise RequestError(
                422,
                f"input: sentence {number} has {len(text)} characters, of at most "
                f"{limits.sentence_characters}; cut it into sentences",
                param="input",
                code="sentence_too_long",
            )


def check_tokens(tokens: Sequence[Any], param: str) -> None:
    """Refuse what is no list of non-empty strings."""
    if not all(isinstance(token, str) and token for token in tokens):
        raise wrong_field(param, "tokens that are strings of one character or more")


def tokenised(
    inputs: Sequence[str] | Sequence[list[str]], model: ServedModel, *, places: bool
) -> Sentences:
    """Cut strings into tokens and take lists of tokens as they are."""
    if inputs and isinstance(inputs[0], str):
        if not places:
            return Sentences([model.words(text) for text in inputs], None, None)  # type: ignore[arg-type]
        tokens = [model.tokens(text) for text in inputs]  # type: ignore[arg-type]
        words = [shortened(token.text for token in one) for one in tokens]
        return Sentences(words, tokens, None)
    given: list[list[str]] = list(inputs)  # type: ignore[arg-type]
    return Sentences([shortened(one) for one in given], None, given)


def check_lengths(words: Iterable[Sequence[str]], limits: Limits) -> None:
    """Refuse sentences that are too long, and too many tokens together."""
    total = 0
    for number, sentence in enumerate(words):
        total += len(sentence)
        if len(sentence) > limits.sentence_tokens:
            raise RequestError(
                422,
                f"input: sentence {number} has {len(sentence)} tokens, of at most "
                f"{limits.sentence_tokens}; cut it into sentences",
                param="input",
                code="sentence_too_long",
            )
    if total > limits.request_tokens:
        raise RequestError(
            422,
            f"input: has {total} tokens, of at most {limits.request_tokens} in a request",
            param="input",
            code="too_many_tokens",
        )


def one_of(values: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    """Give a field that is one of some words; the first of them where it is left out."""
    value = values.get(name)
    if value is None:
        return known[0]
    if not isinstance(value, str) or value not in known:
        raise wrong_field(name, f"one of {', '.join(known)}")
    return value


def whole_number(
    values: Mapping[str, Any], name: str, *, default: int, least: int = 1, most: int
) -> int:
    """Give a field that is a whole number within bounds."""
    value = values.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # which JSON does not tell apart
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise wrong_field(name, f"a whole number from {least} to {most}")
    return value


def position_in(values: Mapping[str, Any], tokens: Sequence[str]) -> int:
    """Give the place of a token that a request names."""
    if not tokens:
        raise wrong_field("input", "a sentence of at least one token")
    return whole_number(values, "position", default=0, least=0, most=len(tokens) - 1)


def _leaves(value: list[Any]) -> Iterable[Any]:
    for one in value:
        if isinstance(one, list):
            yield from one
        else:
            yield one
