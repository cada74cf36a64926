"""Raw text to tokens with character offsets, in the manner the ELMo models were trained on.

The models saw text split as in the Penn Treebank and the 1 Billion Word Benchmark: clitics apart
("do n't", "John 's"), punctuation apart, hyphenated words and numbers whole. `WordTokeniser` does
that and does something sensible for every other script; `WhitespaceTokeniser` is for text that is
tokenised already.

For every tokeniser here `text[token.start:token.end] == token.text`, tokens are in order, do not
overlap, hold no whitespace, and together cover every other character. Nothing is normalised.
"""

import functools
import re
import unicodedata
from typing import NamedTuple, Protocol

from elmokit.errors import InputError

TOKENISERS = ("words", "whitespace")


class Token(NamedTuple):
    """A piece of a text and where it stands there."""

    text: str
    start: int
    end: int


class Tokeniser(Protocol):
    """Splits a text into tokens; `name` is what `tokeniser_named` knows it by."""

    name: str

    def __call__(self, text: str) -> list[Token]:
        """The tokens of `text`, in order."""
        ...

    def words(self, text: str) -> list[str]:
        """The tokens without their places, which takes a third of the time."""
        ...


class WordTokeniser:
    """Words, numbers and punctuation marks, by rules; takes time linear in the text."""

    name = "words"

    def __call__(self, text: str) -> list[Token]:
        """The tokens of `text`, in order."""
        return _tokens(text, _shadow(text), _word_pattern())

    def words(self, text: str) -> list[str]:
        """The tokens without their places."""
        shadow, pattern = _shadow(text), _word_pattern()
        if text.isascii():  # then the shadow differs in whitespace alone
            return pattern.findall(shadow)
        return [text[start:end] for start, end in _spans(pattern, shadow)]


class WhitespaceTokeniser:
    """What stands between whitespace, as `str.split` sees it."""

    name = "whitespace"

    def __call__(self, text: str) -> list[Token]:
        """The tokens of `text`, in order."""
        return _tokens(text, text, _NOT_SPACE)

    def words(self, text: str) -> list[str]:
        """The tokens without their places."""
        return text.split()


def tokeniser_named(name: str) -> Tokeniser:
    """The tokeniser called `name`, one of `TOKENISERS`."""
    if name == WordTokeniser.name:
        return WordTokeniser()
    if name == WhitespaceTokeniser.name:
        return WhitespaceTokeniser()
    raise InputError(f"unknown tokeniser {name!r}: expected one of {', '.join(TOKENISERS)}")


_NOT_SPACE = re.compile(r"\s*+(\S++)")


def _tokens(text: str, shadow: str, pattern: re.Pattern[str]) -> list[Token]:
    return [Token(text[start:end], start, end) for start, end in _spans(pattern, shadow)]


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Say where the first group of a pattern is found."""
    return [match.span(1) for match in pattern.finditer(text)]


def _shadow(text: str) -> str:
    if text.isascii() and text.isprintable():  # then its whitespace is spaces already
        return text
    return text.translate(_SHADOWS)


# The rules are written for a shadow of the text: a string of the same length in which ASCII
# stands for itself and any other character is replaced by the stand-in of its class. The
# stand-ins are arbitrary Latin-1 characters, so that regular expressions test them by bitmap.
_UPPER = "Ü"
_LETTER = "ü"  # lower case, or of a script without case
_HANGUL = "û"
_MARK = "¨"  # combining: vowel signs, accents, dakuten
_HAN = "ñ"
_HIRAGANA = "ø"
_KATAKANA = "æ"
_LONG_VOWEL = "¯"  # belongs to either kana
_JOINER = "¬"  # invisible inside a word: ZWNJ, soft hyphen, word joiner
_EMOJI_JOINER = "×"  # ZWJ, which joins letters of Indic words as well
_SYMBOL = "¤"
_FLAG_LETTER = "®"
_SKIN_TONE = "¥"
_VARIATION = "§"
_KEYCAP = "¶"
_TAG = "¦"
_DASH = "±"
_ELLIPSIS = "·"
_CLOSING = "»"
_INVISIBLE = "ÿ"  # controls, bidirectional marks, lone surrogates, unassigned
_PUNCTUATION = "¿"

_SPECIAL = {
    "\u00ad": _JOINER,
    "\u05f3": _LETTER,  # Hebrew geresh and gershayim stand inside words
    "\u05f4": _LETTER,
    "\u066b": ",",  # Arabic decimal and thousands separators
    "\u066c": ",",
    "\u200c": _JOINER,
    "\u200d": _EMOJI_JOINER,
    "\u2010": "-",
    "\u2011": "-",
    "\u2019": "'",
    "\u2026": _ELLIPSIS,
    "\u2044": "/",
    "\u2060": _JOINER,
    "\u20e3": _KEYCAP,
    "\u2139": _SYMBOL,  # an emoji, though Unicode files it under letters
    "\u3005": _HAN,  # iteration mark, closing mark and zero
    "\u3006": _HAN,
    "\u3007": _HAN,
    "\u30fc": _LONG_VOWEL,
    "\u318d": _PUNCTUATION,  # a Hangul letter in name, the middle dot of Korean lists in use
    "\uff70": _LONG_VOWEL,
}

# Given by range, because an older Python does not know the newest of them.
_RANGES = (
    (0xFE00, 0xFE0F, _VARIATION),
    (0x1F1E6, 0x1F1FF, _FLAG_LETTER),
    (0x1F3FB, 0x1F3FF, _SKIN_TONE),
    (0x1F000, 0x1FAFF, _SYMBOL),
    (0x20000, 0x3FFFF, _HAN),
    (0xE0020, 0xE007F, _TAG),
    (0xE0100, 0xE01EF, _VARIATION),
)

_SCRIPTS = (
    ("HANGUL", _HANGUL),
    ("CJK ", _HAN),
    ("HIRAGANA", _HIRAGANA),
    ("KATAKANA", _KATAKANA),
)

_CATEGORIES = {
    "Lu": _UPPER,
    "Lt": _UPPER,
    "L": _LETTER,
    "M": _MARK,
    "N": "0",
    "S": _SYMBOL,
    "Co": _SYMBOL,
    "C": _INVISIBLE,
    "Pd": _DASH,
    "Pe": _CLOSING,
    "Pf": _CLOSING,
    "P": _PUNCTUATION,
}


def _stand_in(character: str) -> str:
    if character.isspace():
        return " "
    if character.isascii():
        return character
    if character in _SPECIAL:
        return _SPECIAL[character]
    for first, last, stand_in in _RANGES:
        if first <= ord(character) <= last:
            return stand_in
    category = unicodedata.category(character)
    if category[0] == "L":
        name = unicodedata.name(character, "").removeprefix("HALFWIDTH ")
        for prefix, stand_in in _SCRIPTS:
            if name.startswith(prefix):
                return stand_in
    # Separators (Z) are all whitespace, but for what a future Unicode may add.
    return _CATEGORIES.get(category) or _CATEGORIES.get(category[0], _INVISIBLE)


class _Shadows(dict[int, str]):
    """A table for `str.translate` that fills itself with the characters it meets."""

    def __missing__(self, code: int) -> str:
        stand_in = self[code] = _stand_in(chr(code))
        return stand_in


_SHADOWS = _Shadows()

# Kept with their period unless it ends the text. What is also a common word ("in", "fig", "no")
# is left out, or must stand before a number.
_ABBREVIATIONS = (
    "Mr|MR|Mrs|MRS|Ms|Mme|Mlle|Messrs|Dr|DR|Drs|Prof|Rev|Hon|St|ST|Ste|Mt|Ft|Jr|"
    "Sr|Esq|Gen|Sen|Sens|Rep|Reps|Gov|Govs|Lt|Col|Capt|Sgt|Maj|Adm|Cmdr|Cpl|Pvt|"
    "Supt|Pres|Inc|INC|Ltd|Co|Cos|Corp|Bros|Assn|Dept|Univ|Ave|Blvd|Rd|vs|Vs|etc|"
    "al|Cf|cf|ca|approx|viz|seq|spp|ed|eds|ft|lb|lbs|oz|yds|Jan|Feb|Mar|Apr|Jun|"
    "Jul|Aug|Sep|Sept|Oct|Nov|Dec|Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|"
    "Kan|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Neb|Nev|Okla|Ore|Pa|Tenn|Tex|Va|Vt|Wash|"
    "Wis|Wyo|Stat|Ct|Cir|Supp|Cong|Sess|Dist|Const"
)
_ABBREVIATIONS_BEFORE_NUMBERS = (
    "No|Nos|no|nos|Vol|Vols|vol|vols|p|pp|P|Pp|Fig|Figs|fig|figs|Eq|Eqs|eq|eqs|"
    "Sec|Secs|sec|secs|Art|Arts|art|arts|Ch|ch|Chap|chap|Pt|pt|par|para|c|n"
)
# Words that the Penn Treebank cuts in two.
_CUT_IN_TWO = (
    ("can", "not"),
    ("gim", "me"),
    ("gon", "na"),
    ("got", "ta"),
    ("lem", "me"),
    ("wan", "na"),
)


@functools.cache
def _word_pattern(*, shortcuts: bool = True) -> re.Pattern[str]:
    """The one expression that cuts a shadow into tokens; the first alternative that fits wins.

    A token is the expression's group. The spaces before it belong to the match, so that no
    alternative is tried on them. ``shortcuts`` find most tokens of most texts at once, the same
    that the rules would find.

    It stays linear because every repetition is possessive or bounded, and because whatever a
    failed alternative has looked at is bounded too or is taken whole by a later one.
    """
    letters = f"A-Za-z{_UPPER}{_LETTER}{_HANGUL}{_MARK}{_VARIATION}"
    capitals = f"A-Z{_UPPER}"
    word = f"{letters}0-9_"
    kana_and_han = f"{_HAN}{_HIRAGANA}{_KATAKANA}{_LONG_VOWEL}"
    no_word = f"(?![{word}])"
    not_last = rf"(?![ \"')\]}}{_CLOSING}]*+\Z)"
    extenders = f"[{_MARK}{_VARIATION}{_KEYCAP}{_SKIN_TONE}{_TAG}]*+"

    # "do|n't", "John|'s"; but "driver's-side" and "don't-know" stay whole.
    clitic_end = f"(?!-?[{word}])"
    clitic = rf"'(?:[sSmMdD]|[lL][lL]|[rR][eE]|[vV][eE]){clitic_end}"
    negation = rf"[nN]'[tT]{clitic_end}"

    # U.S., e.g., J.R.R.; also without the last period. Ph.D. and LL.B. are of the same kind.
    initial = f"[A-Za-z{_UPPER}{_LETTER}]"
    no_name = f"(?!(?!{clitic})'[{word}])"  # J.O'Neill, but B.A.T's
    initials = (
        rf"(?:(?={initial}\.{initial}(?:[^{word}]|\Z))|(?:Ph|Ed|LL|Sc)\.(?=[A-Z]{no_word}))"
        rf"(?:{initial}\.){{1,12}}+(?:{initial}{no_word}{no_name})?+(?![a-z0-9]){_HANGUL}*+"
    )

    # A run of word characters that stops before the n of n't, then more of them after a joiner.
    not_n = f"[{word.replace('A-Za-z', 'A-MO-Za-mo-z')}]"
    run = rf"(?!{negation})(?=[{word}]){not_n}*+(?:(?!{negation})[nN]{not_n}*+)*+"
    joiner = "|".join(
        (
            f"(?!{clitic})'(?!{_HANGUL})",  # Korean quotes a word, then adds a particle to it
            r"(?<=[0-9])(?:[.,:](?=[0-9])|%-)",
            r"(?<=[A-Z])(?:\.(?=[0-9])|&(?=[A-Z]))",
            r"(?<=[A-Za-z0-9])\.(?=[a-z])",
            f"[{_JOINER}{_EMOJI_JOINER}]++(?=[{letters}])",
        )
    )
    joined = rf"(?:[-/](?:{initials}|{run})|(?:{joiner}){run})*+"
    hyphenated = f"(?:(?=[-/]){joined})?+"
    ending = "|".join(
        (
            rf"\+{{1,2}}+{no_word}",  # C++, 60+
            r"-(?=,? (?:and|or|to) |, )",  # two- and three-year
            r"(?<=[A-Za-z])\.(?=[,;])",  # no sentence ends here: 92d Cong., 1st Sess.
        )
    )
    compound = f"{run}{joined}(?:{ending})?+"

    # The sentence's comma or bracket is not the address's, unless more of the address follows.
    # Only paths have letters beyond ASCII: Korean adds its particles to the host.
    path = f"[{word}~%/$&=@|#*+-]"
    url = (
        r"(?:[hH][tT][tT][pP][sS]?+://|[fF][tT][pP]://|[wW]{3}\.)(?=[A-Za-z0-9])"
        r"(?:[A-Za-z0-9_~%$&=@-]++|[.:](?=[A-Za-z0-9]))++"
        rf"(?:[/?#](?:{path}++|[.,;:!?']++(?=[(]|{path})|\([^ ()<>\"]*+\))*+)?+"
    )
    email = r"[A-Za-z0-9._%+-]{1,64}+@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+)++"

    abbreviation = "|".join(
        (
            rf"(?:{_ABBREVIATIONS})\.(?!\.){not_last}",
            rf"(?:{_ABBREVIATIONS_BEFORE_NUMBERS})\.(?= ?[0-9IVX])",
            rf"v\.(?= [{capitals}])",  # Roe v. Wade
            r"i\.(?= e\.)|e\.(?= g\.)|(?<=i\. )e\.|(?<=e\. )g\.",
            rf"I\.(?= [{capitals}]\.)",  # elsewhere the pronoun or a numeral
            rf"(?!I)[{capitals}]\.(?![.0-9]){not_last}",
        )
    )
    worded = "|".join(
        (
            negation,
            url,
            email,
            r"[A-Z]{1,2}+\$(?= ?[0-9])",  # US$
            f"{initials}{hyphenated}",
            rf"(?=[A-Za-z{_UPPER}]{{1,8}}+\.)(?:{abbreviation}){hyphenated}",
            rf"[A-G]#{no_word}",
            compound,
        )
    )

    elided = r"(?:[eE][mM]|[tT][iI][lL]|[cC]ause|[rR]ound|[bB]out|[0-9]{2}s?+)"
    cut_in_two = "|".join(f"{_any_case(a)}(?={_any_case(b)}{no_word})" for a, b in _CUT_IN_TWO)
    first_letters = "".join({a[0] + a[0].upper(): "" for a, _ in _CUT_IN_TWO})
    short_ways = (
        rf"[{letters}]++(?=[ ,;?!)\]\"]|\Z|(?<=[{letters}]{{2}})\.\Z)",
        rf"[,;:?!()\[\]\"]{extenders}",
        r"\.(?![^ ])",
    )
    alternatives = (
        f"(?=[{first_letters}])(?:{cut_in_two})",
        *(short_ways if shortcuts else ()),
        f"[0-9#*]{_VARIATION}?+{_KEYCAP}",
        f"(?=[{word}])(?:{worded})",
        # Apostrophes that belong to what follows: 's, 'em, '90s, 'n', 't|is.
        rf"(?<=[{word}.]){clitic}",
        rf"{clitic}(?!')",
        rf"(?<![{word}])'(?:{elided}(?![{word}'])|[nN]'|[tT](?=(?:is|was){no_word}))",
        # Signs and points that begin a word: -5, .5, .yaml.
        rf"(?<![^ (\[$])[-+]\.?+(?=[0-9]){compound}",
        rf"(?<![{word}])\.(?=[0-9]){compound}",
        rf"(?<![^ (\[/\"'])(?<!\. )\.(?=[a-z]){compound}",
        rf"(?<![{word}])@[{word}{kana_and_han}]++",
        rf"#(?=[0-9_]*+[{letters}{kana_and_han}])[{word}{kana_and_han}]++",
        r"(?<![^ ])-[LR][RCS]B-(?![^ ])",  # brackets as the Penn Treebank escapes them
        # Marks that are written as runs; four dots are an ellipsis and a full stop.
        r"\.{3}(?=\.(?!\.))|\.{2,}+|-{2,}+|={2,}+|\*{2,}+|#{2,}+|~{2,}+|``|''",
        f"{_DASH}{{2,}}+|{_ELLIPSIS}{{2,}}+",
        f"{_HAN}{extenders}",
        f"{_HIRAGANA}[{_HIRAGANA}{_LONG_VOWEL}{_MARK}]*+",
        f"[{_KATAKANA}{_LONG_VOWEL}][{_KATAKANA}{_LONG_VOWEL}{_MARK}]*+",
        f"{_FLAG_LETTER}{_FLAG_LETTER}",
        f"{_SYMBOL}{extenders}(?:{_EMOJI_JOINER}{_SYMBOL}{extenders})*+",
        f"[{_INVISIBLE}{_JOINER}{_EMOJI_JOINER}]++",
        f"[^ ]{extenders}",
    )
    return re.compile(f" *+({'|'.join(alternatives)})")


def _any_case(letters: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in letters)
