"""A word between asterisks."""

import pytest

from elmokit.analysis.marked_word import find_marked_word, with_mark
from elmokit.errors import InputError
from elmokit.text.tokenise import WhitespaceTokeniser, WordTokeniser


@pytest.mark.parametrize(
    ("text", "sentence", "word", "position"),
    [
        ("made a *play* on it", "made a play on it", "play", 2),
        ('(a "*play*")', '(a "play")', "play", 3),
        ("*Play*!", "Play!", "Play", 0),
        ("She did*n't* go", "She didn't go", "n't", 2),
        ("그는 *은행에* 갔다.", "그는 은행에 갔다.", "은행에", 1),
        ("2 * 3 is *six*", "2 * 3 is six", "six", 4),
    ],
)
def test_found(text: str, sentence: str, word: str, position: int) -> None:
    found = find_marked_word(text, WordTokeniser())
    assert (found.sentence, found.word, found.position) == (sentence, word, position)


def test_by_white_space() -> None:
    found = find_marked_word("a *b.* c", WhitespaceTokeniser())
    assert found.tokens == ["a", "b.", "c"]
    assert found.position == 1


@pytest.mark.parametrize("text", ["", "no mark", "**", "* a *", "*a* and *b*"])
def test_none_or_several(text: str) -> None:
    with pytest.raises(InputError, match="expected one word between asterisks"):
        find_marked_word(text, WordTokeniser())


def test_no_string() -> None:
    with pytest.raises(InputError, match=r"a \*marked\* word, found 3"):
        find_marked_word(3, WordTokeniser())  # type: ignore[arg-type]


def test_marking() -> None:
    assert with_mark("a play on it", 2, 6) == "a *play* on it"
