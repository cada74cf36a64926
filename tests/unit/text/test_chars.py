"""Spelling words as character ids, against one plain loop per word."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmokit.config import Marks
from elmokit.errors import InputError
from elmokit.text.chars import (
    BEGIN_SENTENCE,
    BEGIN_WORD,
    END_SENTENCE,
    END_WORD,
    PADDING,
    ByteAlphabet,
    DictionaryAlphabet,
)

BYTE_MARKS = Marks()
DICTIONARY_MARKS = Marks(begin="<bos>", end="<eos>", unknown="<oov>")
LISTED = ("a", "b", "c", "한", "漢", "ع", "😀", "\u3000", "e\u0301", *DictionaryAlphabet.MARKS, "z")

SURROGATES = st.integers(0xD800, 0xDFFF).map(chr)
CHARACTERS = st.one_of(
    st.characters(),
    st.sampled_from("aB1.<>/S한글漢字かなЖعé😀\u0301\u200d\u3000"),
    SURROGATES,
)
WORDS = st.one_of(
    st.text(CHARACTERS, max_size=60),
    st.sampled_from(["<S>", "</S>", "<UNK>", "<s>", "<S", "<bos>", "<eos>", "<pad>", "<oov>"]),
)
WIDTHS = st.integers(3, 60)

unhurried = settings(deadline=None)


def byte_row(word: str, width: int) -> list[int]:
    if word in ("<S>", "</S>"):
        spelling = [BEGIN_SENTENCE if word == "<S>" else END_SENTENCE]
    else:
        spelling = []
        for character in word:
            if not 0xD800 <= ord(character) <= 0xDFFF:
                spelling.extend(character.encode("utf-8"))
        spelling = spelling[: width - 2]
    row = [BEGIN_WORD, *spelling, END_WORD]
    while len(row) < width:
        row.append(PADDING)
    return row


def dictionary_row(word: str, width: int) -> list[int]:
    if word in ("<bos>", "<eos>"):
        spelling = [LISTED.index(word)]
    else:
        spelling = []
        for character in word[: width - 2]:
            spelling.append(LISTED.index(character if character in LISTED else "<oov>"))
    row = [LISTED.index("<eow>"), *spelling, LISTED.index("<bow>")]
    while len(row) < width:
        row.append(LISTED.index("<pad>"))
    return row


def encode_bytes(words: list[str], width: int = 50) -> list[list[int]]:
    ids = ByteAlphabet(max_characters=width, marks=BYTE_MARKS).encode(words)
    assert ids.shape == (len(words), width)
    assert ids.dtype == np.int32
    rows: list[list[int]] = ids.tolist()
    return rows


def encode_dictionary(words: list[str], width: int = 50) -> list[list[int]]:
    alphabet = DictionaryAlphabet(LISTED, max_characters=width, marks=DICTIONARY_MARKS)
    ids = alphabet.encode(words)
    assert ids.shape == (len(words), width)
    assert ids.dtype == np.int32
    rows: list[list[int]] = ids.tolist()
    return rows


def test_published_ids() -> None:
    """The rows of the character embedding are promises of the published weights."""
    marks = (BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING)
    assert marks == (256, 257, 258, 259, 260)


def test_rows_of_bilm_tf() -> None:
    rows = encode_bytes(["abc", "<S>", "</S>", ""], 6)
    assert rows == [
        [258, 97, 98, 99, 259, 260],
        [258, 256, 259, 260, 260, 260],
        [258, 257, 259, 260, 260, 260],
        [258, 259, 260, 260, 260, 260],
    ]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("한국어", [0xED, 0x95, 0x9C, 0xEA, 0xB5, 0xAD, 0xEC, 0x96, 0xB4]),
        ("日本", [0xE6, 0x97, 0xA5, 0xE6, 0x9C, 0xAC]),
        ("かな", [0xE3, 0x81, 0x8B, 0xE3, 0x81, 0xAA]),
        ("عرب", [0xD8, 0xB9, 0xD8, 0xB1, 0xD8, 0xA8]),
        ("😀", [0xF0, 0x9F, 0x98, 0x80]),
        ("👩‍💻", [0xF0, 0x9F, 0x91, 0xA9, 0xE2, 0x80, 0x8D, 0xF0, 0x9F, 0x92, 0xBB]),
        ("naïve", [0x6E, 0x61, 0xC3, 0xAF, 0x76, 0x65]),
        ("\x00", [0]),
    ],
)
def test_scripts_in_bytes(word: str, expected: list[int]) -> None:
    (row,) = encode_bytes([word], 20)
    assert row == [258, *expected, 259] + [260] * (18 - len(expected))


def test_nothing_is_normalised() -> None:
    composed, decomposed = "각é", unicodedata.normalize("NFD", "각é")
    first, second = encode_bytes([composed, decomposed])
    assert first != second


@pytest.mark.parametrize("length", [46, 47, 48, 49, 50, 200])
def test_byte_limit(length: int) -> None:
    (row,) = encode_bytes(["x" * length])
    kept = min(length, 48)
    assert row == [258] + [ord("x")] * kept + [259] + [260] * (48 - kept)


@pytest.mark.parametrize(
    ("word", "cut_bytes"), [("한" * 20, 0), ("a" + "한" * 20, 2), ("é" * 30, 0)]
)
def test_limit_may_cut_a_character(word: str, cut_bytes: int) -> None:
    (row,) = encode_bytes([word])
    kept = bytes(row[1:49])
    assert row[49] == END_WORD
    assert kept == word.encode()[:48]
    assert len(kept) - len(kept.decode("utf-8", "ignore").encode()) == cut_bytes


def test_lone_surrogates_are_left_out() -> None:
    rows = encode_bytes(["a\ud800b", "ab", "\udfff", "", "<S>\ud800", "<\udc80S>"], 8)
    assert rows[0] == rows[1]
    assert rows[2] == rows[3]
    # Only the very mark is one: what looks like it afterwards is spelled.
    spelled = [258, *b"<S>", 259, 260, 260, 260]
    assert rows[4] == rows[5] == spelled


def test_unknown_mark_and_look_alikes_are_spelled() -> None:
    words = ["<UNK>", "<s>", "</s>", "<S> ", "S"]
    assert encode_bytes(words) == [
        [258, *word.encode(), 259] + [260] * (48 - len(word)) for word in words
    ]


@unhurried
@given(st.lists(WORDS, max_size=12), WIDTHS)
@example(["<S>", "", "</S>", "x" * 100, "\ud800"], 3)
def test_bytes_equal_a_loop_over_words(words: list[str], width: int) -> None:
    assert encode_bytes(words, width) == [byte_row(word, width) for word in words]


@unhurried
@given(st.lists(st.text(CHARACTERS, max_size=60), max_size=8), WIDTHS)
def test_byte_rows_are_laid_out_in_order(words: list[str], width: int) -> None:
    for row in encode_bytes(words, width):
        end = row.index(END_WORD)
        assert row[0] == BEGIN_WORD
        assert all(0 <= value <= 257 for value in row[1:end])
        assert end - 1 <= width - 2
        assert row[end + 1 :] == [PADDING] * (width - end - 1)


@unhurried
@given(st.text(max_size=12))
def test_bytes_of_short_words_can_be_had_back(word: str) -> None:
    (row,) = encode_bytes([word])
    spelling = row[1 : row.index(END_WORD)]
    if word in ("<S>", "</S>"):
        assert spelling in ([BEGIN_SENTENCE], [END_SENTENCE])
    else:
        assert bytes(spelling).decode("utf-8") == word


@unhurried
@given(st.lists(WORDS, min_size=1, max_size=8), st.data())
def test_words_do_not_depend_on_their_neighbours(words: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(words) - 1))
    assert encode_bytes(words, 20)[index] == encode_bytes([words[index]], 20)[0]
    assert encode_dictionary(words, 20)[index] == encode_dictionary([words[index]], 20)[0]


def test_marks_of_another_model() -> None:
    alphabet = ByteAlphabet(max_characters=6, marks=Marks(begin="[", end="]"))
    rows = alphabet.encode(["[", "]", "<S>"]).tolist()
    assert rows[0][:3] == [258, 256, 259]
    assert rows[1][:3] == [258, 257, 259]
    assert rows[2] == [258, *b"<S>", 259, 260]


def test_no_words() -> None:
    assert encode_bytes([]) == []
    assert encode_dictionary([]) == []


def test_narrowest_row() -> None:
    assert encode_bytes(["ab", "<S>", ""], 3) == [[258, 97, 259], [258, 256, 259], [258, 259, 260]]


def test_rows_of_many_langs() -> None:
    """The boundary marks stand the wrong way round, as in the training of the models."""
    number = {character: index for index, character in enumerate(LISTED)}
    rows = encode_dictionary(["ab", "<bos>", "<eos>", "q한", ""], 5)
    begin, end, pad = number["<eow>"], number["<bow>"], number["<pad>"]
    assert rows == [
        [begin, number["a"], number["b"], end, pad],
        [begin, number["<bos>"], end, pad, pad],
        [begin, number["<eos>"], end, pad, pad],
        [begin, number["<oov>"], number["한"], end, pad],
        [begin, end, pad, pad, pad],
    ]


def test_dictionary_reads_code_points_one_by_one() -> None:
    """An entry of two code points never matches, and names of marks are spelled."""
    number = {character: index for index, character in enumerate(LISTED)}
    row, padding, unknown = encode_dictionary(["e\u0301", "<pad>", "<oov>"], 9)
    assert row[1:4] == [number["<oov>"], number["<oov>"], number["<bow>"]]
    # "<pad>": p and d are not listed, a is.
    assert padding[1:6] == [number[c] for c in ("<oov>", "<oov>", "a", "<oov>", "<oov>")]
    assert unknown[1:6] == [number["<oov>"]] * 5


@pytest.mark.parametrize("length", [47, 48, 49, 100])
def test_dictionary_counts_code_points_not_bytes(length: int) -> None:
    (row,) = encode_dictionary(["한" * length])
    kept = min(length, 48)
    assert row[1 : kept + 1] == [LISTED.index("한")] * kept
    assert row[kept + 1] == LISTED.index("<bow>")


@unhurried
@given(st.lists(WORDS, max_size=12), WIDTHS)
@example(["<bos>", "", "<eos>", "a" * 100, "\ud800"], 3)
@example(["a\ud83d", "\ude00z", "\U0010ffff", "\x00"], 9)
def test_dictionary_equals_a_loop_over_words(words: list[str], width: int) -> None:
    assert encode_dictionary(words, width) == [dictionary_row(word, width) for word in words]


@unhurried
@given(st.text("abc한漢ع😀\u3000z", max_size=18))
def test_characters_of_short_words_can_be_had_back(word: str) -> None:
    (row,) = encode_dictionary([word], 20)
    spelling = row[1 : row.index(LISTED.index("<bow>"))]
    assert "".join(LISTED[index] for index in spelling) == word


def test_a_dictionary_of_marks_alone_knows_no_character() -> None:
    marks = DictionaryAlphabet.MARKS
    alphabet = DictionaryAlphabet(marks, max_characters=5, marks=DICTIONARY_MARKS)
    begin, unknown, end, pad = (marks.index(m) for m in ("<eow>", "<oov>", "<bow>", "<pad>"))
    assert alphabet.encode(["\x00a", ""]).tolist() == [
        [begin, unknown, unknown, end, pad],
        [begin, end, pad, pad, pad],
    ]


def test_a_character_that_is_listed_twice_has_its_later_id() -> None:
    listed = ["a", *DictionaryAlphabet.MARKS, "a"]
    alphabet = DictionaryAlphabet(listed, max_characters=4, marks=DICTIONARY_MARKS)
    assert alphabet.encode(["a"])[0, 1] == len(listed) - 1


@pytest.mark.parametrize("mark", DictionaryAlphabet.MARKS)
def test_dictionary_without_a_mark(mark: str) -> None:
    kept = [character for character in LISTED if character != mark]
    with pytest.raises(InputError, match=f"lacks the mark '{mark}'"):
        DictionaryAlphabet(kept, max_characters=50, marks=DICTIONARY_MARKS)
