"""What people hand over as sentences: raw strings or token lists, checked one by one."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from elmokit.errors import InputError

Sentence = str | Sequence[str]

_JUST_STRINGS = frozenset({str})


def check_sentences(sentences: object) -> None:
    """Refuse what is no collection of sentences, above all a bare string."""
    if isinstance(sentences, str | bytes):
        raise InputError(
            f"sentences: expected a list of sentences, found one string {_short(sentences)}; "
            "put it into a list: [text]"
        )
    if not isinstance(sentences, Iterable):
        raise InputError(f"sentences: expected a list of sentences, found {_short(sentences)}")


def token_lists(
    sentences: Iterable[Sentence], tokenise: Callable[[str], list[str]]
) -> Iterator[list[str]]:
    """Give the tokens of each sentence; errors name the sentence and the token."""
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            yield tokenise(sentence)
        elif isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
            raise InputError(
                f"sentence {number}: expected a string or a list of tokens, "
                f"found {_short(sentence)}"
            )
        else:
            tokens = list(sentence)
            if not _JUST_STRINGS.issuperset(map(type, tokens)):
                _check_tokens(tokens, number)
            yield tokens


def _check_tokens(tokens: Sequence[object], number: int) -> None:
    for position, token in enumerate(tokens):
        if not isinstance(token, str):
            raise InputError(
                f"sentence {number}, token {position}: expected a string, found {_short(token)}"
            )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
