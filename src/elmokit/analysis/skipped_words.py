"""Tokens that an index may leave out: they are many, and nobody asks for their neighbours."""

from collections.abc import Callable

from elmokit.errors import InputError

SKIPS = ("nothing", "punctuation", "function-words")

# The closed classes of English: about half of all tokens of a text.
FUNCTION_WORDS = """
a an the this that these those and or but nor if than as of in on at by for from to with
into onto upon about over under between through during after before against without within
i me my mine you your yours he him his she her hers it its we us our ours they them their
theirs who whom whose which what there here is are was were be been being am has have had
having do does did done will would shall should can could may might must not n't no 's 're
've 'll 'd 'm so too also very then when while where how all any each some such both
"""


def keeper(skip: str) -> Callable[[str], bool]:
    """Give a function that says whether a token is kept.

    ``skip`` is ``"nothing"``, ``"punctuation"`` (tokens without a letter or digit), or
    ``"function-words"`` (those of English, and punctuation).
    """
    if skip == "nothing":
        return lambda token: True
    if skip == "punctuation":
        return _has_letters
    if skip == "function-words":
        words = frozenset(FUNCTION_WORDS.split())
        return lambda token: _has_letters(token) and token.lower() not in words
    raise InputError(f"skip: expected one of {', '.join(SKIPS)}, found {skip!r}")


def _has_letters(token: str) -> bool:
    return any(character.isalnum() for character in token)
