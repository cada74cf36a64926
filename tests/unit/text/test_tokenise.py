import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.errors import InputError
from elmokit.text.tokenise import (
    TOKENISERS,
    Tokeniser,
    WhitespaceTokeniser,
    WordTokeniser,
    _shadow,
    _word_pattern,
    tokeniser_named,
)

# The expected tokens are written with " | " between them, so that each case reads as one line.
ENGLISH = [
    # Clitics.
    ("I don't know.", "I | do | n't | know | ."),
    ("CAN'T won't", "CA | N'T | wo | n't"),
    ("He doesn’t; they’re", "He | does | n’t | ; | they | ’re"),
    ("John's I'll we've I'd I'm", "John | 's | I | 'll | we | 've | I | 'd | I | 'm"),
    ("JOHN'S WE'LL", "JOHN | 'S | WE | 'LL"),
    ("shouldn't've I'd've", "should | n't | 've | I | 'd | 've"),
    ("I cannot. Cannot CANNOT", "I | can | not | . | Can | not | CAN | NOT"),
    ("cannots are gonna", "cannots | are | gon | na"),
    ("the dogs' tails", "the | dogs | ' | tails"),
    ("O'Neill and d’Artagnan", "O'Neill | and | d’Artagnan"),
    ("l'amour, rock'n'roll", "l'amour | , | rock'n'roll"),
    ("rock 'n' roll in the '90s", "rock | 'n' | roll | in | the | '90s"),
    ("'Tis; tell 'em", "'T | is | ; | tell | 'em"),
    ("a driver's-side door", "a | driver's-side | door"),
    # Quotes, brackets and other marks.
    ('"Hello," he said.', '" | Hello | , | " | he | said | .'),
    ("“Why?” ‘No!!’", "“ | Why | ? | ” | ‘ | No | ! | ! | ’"),
    ("'quoted' (a [b] {c})", "' | quoted | ' | ( | a | [ | b | ] | { | c | } | )"),
    ("'It was John's'", "' | It | was | John | 's | '"),
    ("``so''", "`` | so | ''"),
    ("one--two -- three — four", "one | -- | two | -- | three | — | four"),
    ("well... so… or....", "well | ... | so | … | or | ... | ."),
    ("a\u200bb\ufeff", "a | \u200b | b | \ufeff"),
    # Hyphens and joined words.
    ("a well-known mother-in-law", "a | well-known | mother-in-law"),
    ("two- and three-year", "two- | and | three-year"),
    ("and/or AT&T C++ C# 60+", "and/or | AT&T | C++ | C# | 60+"),
    ("a - b, 1990–2000", "a | - | b | , | 1990 | – | 2000"),
    # Numbers.
    ("$5,000.50", "$ | 5,000.50"),
    ("US$5 £3m 5€", "US$ | 5 | £ | 3m | 5 | €"),
    ("10% of 1,000.", "10 | % | of | 1,000 | ."),
    ("3:30, 24/7, 1990s, 1990's", "3:30 | , | 24/7 | , | 1990s | , | 1990 | 's"),
    ("-5.2 (+3) .5 $.50", "-5.2 | ( | +3 | ) | .5 | $ | .50"),
    ("a 24-day, 3½-inch 80%-owned", "a | 24-day | , | 3½-inch | 80%-owned"),
    ("H.264 v1.2.x 2d", "H.264 | v1.2.x | 2d"),
    # Abbreviations.
    ("Mr. Smith vs. Dr. Lee", "Mr. | Smith | vs. | Dr. | Lee"),
    ("the U.S. and e.g. J.R.R. Tolkien", "the | U.S. | and | e.g. | J.R.R. | Tolkien"),
    ("It left the U.S.", "It | left | the | U.S."),
    ("at 5 a.m. (Ph.D.)", "at | 5 | a.m. | ( | Ph.D. | )"),
    ("Apple Inc. and Apple Inc.", "Apple | Inc. | and | Apple | Inc | ."),
    ('from Apple Inc." ', 'from | Apple | Inc | . | "'),
    (
        "Inc.'s U.S.-based anti-U.S. Calif.-based",
        "Inc. | 's | U.S.-based | anti-U.S. | Calif.-based",
    ),
    ("No. 5? No. Yes.", "No. | 5 | ? | No | . | Yes | ."),
    ("J. Smith and I. Then plan B.", "J. | Smith | and | I | . | Then | plan | B | ."),
    ("J.O'Neill, B.A.T's", "J. | O'Neill | , | B.A.T | 's"),
    (
        "92d Cong., 1st Sess., etc., i. e., so",
        "92d | Cong. | , | 1st | Sess. | , | etc. | , | i. | e. | , | so",
    ),
    ("It ended.Next came", "It | ended | . | Next | came"),
    # Addresses.
    ("(see http://foo.com/a_(b)?c=d, now)", "( | see | http://foo.com/a_(b)?c=d | , | now | )"),
    ("www.example.org. example.com/x.", "www.example.org | . | example.com/x | ."),
    ("<https://a.b/c>", "< | https://a.b/c | >"),
    ("write to jo.smith+x@mail-host.co.uk.", "write | to | jo.smith+x@mail-host.co.uk | ."),
    ("@handle, #hashtag #1", "@handle | , | #hashtag | # | 1"),
    # Text that is tokenised already stays as it is.
    (
        "Do n't , John 's `` x '' -LRB- y -RRB-",
        "Do | n't | , | John | 's | `` | x | '' | -LRB- | y | -RRB-",
    ),
]

OTHER_SCRIPTS = [
    ("한국어 문장입니다.", "한국어 | 문장입니다 | ."),
    ("2020년 1,234명이 '법칙'을", "2020년 | 1,234명이 | ' | 법칙 | ' | 을"),
    ("정치·경제ㆍ사회 http://foo.com에서", "정치 | · | 경제 | ㆍ | 사회 | http://foo.com | 에서"),
    ("これは日本語のラーメンです。", "これは | 日 | 本 | 語 | の | ラーメン | です | 。"),
    ("らーめん、人々・ﾃｽﾄ", "らーめん | 、 | 人 | 々 | ・ | ﾃｽﾄ"),
    ("か\u3099ハ\u309a", "か\u3099 | ハ\u309a"),
    ("我喜欢北京，你呢？", "我 | 喜 | 欢 | 北 | 京 | ， | 你 | 呢 | ？"),
    ("好——好……2020年𠀀", "好 | —— | 好 | …… | 2020 | 年 | 𠀀"),
    ("العَرَبِيَّةُ لُغَةٌ، ١٬٢٣٤٫٥؟", "العَرَبِيَّةُ | لُغَةٌ | ، | ١٬٢٣٤٫٥ | ؟"),
    ("می‌خواهم بروم", "می‌خواهم | بروم"),
    ("यह हिन्दी वाक्य है। क्‍ष", "यह | हिन्दी | वाक्य | है | । | क्‍ष"),
    ("А. С. Пушкин жил в Москве.", "А. | С. | Пушкин | жил | в | Москве | ."),
    ("кто-то, п’ять, т.е. это", "кто-то | , | п’ять | , | т.е. | это"),
    ("Ça va? «Größe» cafe\u0301s", "Ça | va | ? | « | Größe | » | cafe\u0301s"),
    ("สวัสดี ครับ", "สวัสดี | ครับ"),
]

EMOJI = [
    ("hi😀😀!", "hi | 😀 | 😀 | !"),
    ("👨‍👩‍👧‍👦👍🏽", "👨‍👩‍👧‍👦 | 👍🏽"),
    ("❤️🏳️‍🌈ℹ️", "❤️ | 🏳️‍🌈 | ℹ️"),
    ("🇰🇷🇺🇸🇰", "🇰🇷 | 🇺🇸 | 🇰"),
    ("1️⃣2️⃣#️⃣", "1️⃣ | 2️⃣ | #️⃣"),
    ("🏴󠁧󠁢󠁥󠁮󠁧󠁿🧑🏿‍🚀", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 | 🧑🏿‍🚀"),
]

# Strings with which the rules are concerned; arbitrary text would seldom bring them together.
PIECES = [
    *("n't", "'s", "'", "’", "-", "--", ".", "...", ",", ":", "/", "%", "$", "#", "@", "&", "+"),
    *("can", "not", "Mr", "U.S.", "Ph.D", "I.", "No.", "http://", "www.", "a@b.c", "(", ")", '"'),
    *(
        "a",
        "n",
        "A",
        "7",
        "½",
        "_",
        " ",
        "\n",
        "é",
        "É",
        "한",
        "字",
        "か",
        "カ",
        "ー",
        "ع",
        "\u0301",
    ),
    *("\u200d", "\u200c", "\u200b", "\ufe0f", "\u20e3", "😀", "🏽", "🇰", "\U000e0067", "\ud800"),
    *("\ue000", "\x00", "\xa0", "\xad", "…", "—", "ㆍ"),
]

EVERY_TOKENISER = pytest.mark.parametrize("name", TOKENISERS)


def check_cover(tokenise: Tokeniser, text: str) -> None:
    end_before = 0
    for token in tokenise(text):
        assert text[token.start : token.end] == token.text
        assert token.start >= end_before
        assert token.text.split() == [token.text]
        assert not text[end_before : token.start].strip()
        end_before = token.end
    assert not text[end_before:].strip()
    assert tokenise.words(text) == [token.text for token in tokenise(text)]


@pytest.mark.parametrize(("text", "expected"), [*ENGLISH, *OTHER_SCRIPTS, *EMOJI])
def test_words(text: str, expected: str) -> None:
    assert [token.text for token in WordTokeniser()(text)] == expected.split(" | ")


@pytest.mark.parametrize(("text", "expected"), [*ENGLISH, *OTHER_SCRIPTS])
def test_offsets(text: str, expected: str) -> None:
    del expected
    check_cover(WordTokeniser(), text)
    check_cover(WhitespaceTokeniser(), text)


def test_whitespace() -> None:
    assert WhitespaceTokeniser()(" a\u3000b,\n") == [("a", 1, 2), ("b,", 3, 5)]


@EVERY_TOKENISER
@pytest.mark.parametrize("text", ["", " ", "\n\t\u2028 \x1f"])
def test_nothing(name: str, text: str) -> None:
    assert tokeniser_named(name)(text) == []


@EVERY_TOKENISER
def test_characters_of_every_block(name: str) -> None:
    codes = [*range(0x20000), *range(0x20000, 0x110000, 0x101), *range(0xE0000, 0xE0200)]
    text = "".join(map(chr, codes))
    check_cover(tokeniser_named(name), text)
    check_cover(tokeniser_named(name), " ".join(text))
    check_cover(tokeniser_named(name), "a".join(text))


@EVERY_TOKENISER
@given(text=st.text(st.characters()))
def test_any_text(name: str, text: str) -> None:
    check_cover(tokeniser_named(name), text)


@EVERY_TOKENISER
@given(text=st.text(st.characters(max_codepoint=127)))
def test_any_ascii(name: str, text: str) -> None:
    check_cover(tokeniser_named(name), text)


@given(text=st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_of_pieces(text: str) -> None:
    check_cover(WordTokeniser(), text)


@given(text=st.lists(st.sampled_from([*PIECES, *" " * 9, "ab", "e.", "g.", "?", "]", "gon", "na"])))
def test_shortcuts_find_what_the_rules_find(text: list[str]) -> None:
    shadow = _shadow("".join(text))
    rules = _word_pattern(shortcuts=False)
    assert _word_pattern().findall(shadow) == rules.findall(shadow)


@pytest.mark.parametrize(("text", "expected"), [*ENGLISH, *OTHER_SCRIPTS, *EMOJI])
def test_shortcuts_find_what_the_rules_find_in_examples(text: str, expected: str) -> None:
    del expected
    for cut in range(len(text)):
        shadow = _shadow(text[: cut + 1])
        rules = _word_pattern(shortcuts=False)
        assert _word_pattern().findall(shadow) == rules.findall(shadow)


@pytest.mark.parametrize("space", ["\t", "\n", "\x1f", "\x0b", "  "])
def test_whitespace_of_ascii_is_no_part_of_words(space: str) -> None:
    assert WordTokeniser().words(f"{space}It's{space}so.{space}") == ["It", "'s", "so", "."]
    assert WordTokeniser()(f"a{space}b") == [("a", 0, 1), ("b", 1 + len(space), 2 + len(space))]


@given(text=st.text(st.characters()))
def test_whitespace_splits_as_python_does(text: str) -> None:
    assert [token.text for token in WhitespaceTokeniser()(text)] == text.split()


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a'",
        "a-",
        ".",
        "1,",
        "A.",
        "a.",
        "a@",
        "n't",
        "http://",
        "#1",
        "한",
        "\u200d",
        "a.A-",
        "'",
    ],
)
@pytest.mark.parametrize("ending", ["", "!", "x1"])
def test_linear_time(unit: str, ending: str) -> None:
    # Shorter than below, because here each character or two is a token to be made.
    text = unit * (200_000 // len(unit)) + ending
    began = time.process_time()
    WordTokeniser()(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("unit", ["a", "a'", "a-", ".", "1,"])
def test_linear_time_of_a_megabyte(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    WordTokeniser()(text)
    assert time.process_time() - began < 2


@EVERY_TOKENISER
def test_named(name: str) -> None:
    tokenise = tokeniser_named(name)
    assert tokenise.name == name
    again = pickle.loads(pickle.dumps(tokenise))
    assert again("It's so.") == tokenise("It's so.")


def test_unknown_name() -> None:
    with pytest.raises(InputError, match=r"'word'.*words, whitespace"):
        tokeniser_named("word")
