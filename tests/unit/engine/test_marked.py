"""Where words stand among the marks."""

from hypothesis import given
from hypothesis import strategies as st

from elmokit.config import Marks
from elmokit.engine.marked import places_of_words, with_marks


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=6))
def test_places_of_words_leave_out_the_marks(sentences: list[list[str]]) -> None:
    rows = with_marks(sentences, Marks())
    assert all(row[0] == Marks().begin and row[-1] == Marks().end for row in rows)
    flat = [word for row in rows for word in row]
    words = [word for sentence in sentences for word in sentence]
    assert [flat[place] for place in places_of_words(sentences)] == words
