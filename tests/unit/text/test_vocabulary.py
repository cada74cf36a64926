import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.config import Marks
from elmokit.errors import InputError
from elmokit.text.vocabulary import Vocabulary

WORDS = ["</S>", "<S>", "<UNK>", "the", "bank", "한국어"]


def test_ids_are_places_in_the_list() -> None:
    vocabulary = Vocabulary(WORDS)
    ids = vocabulary.ids(["bank", "the", "한국어", "<S>", "</S>", "bank"])
    assert ids.dtype == np.int64
    assert ids.tolist() == [4, 3, 5, 1, 0, 4]
    assert vocabulary.ids([]).shape == (0,)


def test_unlisted_words_become_the_unknown_mark() -> None:
    vocabulary = Vocabulary(WORDS)
    assert vocabulary.ids(["The", "", "<UNK>", "banks"]).tolist() == [2, 2, 2, 2]


def test_size_and_membership() -> None:
    vocabulary = Vocabulary(iter(WORDS))
    assert len(vocabulary) == 6
    assert vocabulary.words == tuple(WORDS)
    assert "bank" in vocabulary
    assert "The" not in vocabulary
    assert 3 not in vocabulary


def test_later_of_two_equal_words_counts() -> None:
    vocabulary = Vocabulary([*WORDS, "the"])
    assert len(vocabulary) == 7
    assert vocabulary.ids(["the"]).tolist() == [6]


def test_which_ids_count_is_found_once() -> None:
    vocabulary = Vocabulary(["a", "b", "a", "c"], marks=Marks())
    assert vocabulary.is_own_id.tolist() == [False, True, True, True]
    assert vocabulary.is_own_id is vocabulary.is_own_id
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.is_own_id[0] = True


def test_batch_ids_count_from_1_with_marks_and_padding() -> None:
    batch = Vocabulary(WORDS).batch_ids([["the", "bank"], [], ["unlisted"]])
    assert batch.dtype == np.int64
    assert batch.tolist() == [[2, 4, 5, 1], [2, 1, 0, 0], [2, 3, 1, 0]]


def test_batch_ids_of_nothing() -> None:
    assert Vocabulary(WORDS).batch_ids([]).shape == (0, 0)


def test_marks_of_another_model() -> None:
    marks = Marks(begin="<bos>", end="<eos>", unknown="<oov>")
    vocabulary = Vocabulary(["<oov>", "<bos>", "<eos>", "the"], marks=marks)
    assert vocabulary.missing_marks() == []
    assert vocabulary.batch_ids([["the", "<UNK>"]]).tolist() == [[2, 4, 1, 3]]


def test_missing_marks_are_named() -> None:
    assert Vocabulary(WORDS).missing_marks() == []
    assert Vocabulary(["the", "<S>"]).missing_marks() == ["</S>", "<UNK>"]
    assert Vocabulary([]).missing_marks() == ["<S>", "</S>", "<UNK>"]


def test_unlisted_word_without_unknown_mark() -> None:
    """It must not become the last word, which is what an id of -1 would mean."""
    vocabulary = Vocabulary(["<S>", "</S>", "the"])
    assert vocabulary.ids(["the", "<S>"]).tolist() == [2, 0]
    with pytest.raises(InputError, match=r"'bank' is not in the vocabulary.*'<UNK>'"):
        vocabulary.ids(["the", "bank"])


def test_equality() -> None:
    assert Vocabulary(WORDS) == Vocabulary(list(WORDS))
    assert Vocabulary(WORDS) != Vocabulary(WORDS[:-1])
    assert Vocabulary(WORDS) != Vocabulary(WORDS, marks=Marks(begin="<bos>"))
    assert Vocabulary(WORDS) != WORDS
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vocabulary(WORDS))


@settings(deadline=None)
@given(st.lists(st.text(max_size=5), unique=True), st.lists(st.text(max_size=5)))
def test_ids_lead_back_to_words(listed: list[str], words: list[str]) -> None:
    vocabulary = Vocabulary([*listed, "<UNK>!"], marks=Marks(unknown="<UNK>!"))
    for word, index in zip(words, vocabulary.ids(words).tolist(), strict=True):
        assert vocabulary.words[index] == (word if word in listed else "<UNK>!")
