"""Merging sorted lists of words equals sorting all of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.corpus.merge import WordList, merge

WORDS = st.text(alphabet="ab\x01é한\U0001f600", min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    lists=st.lists(st.sets(WORDS, max_size=15), max_size=12),
    lists_at_once=st.integers(2, 5),
    bytes_at_once=st.integers(1, 100),
)
def test_merging(
    tmp_path_factory: pytest.TempPathFactory,
    lists: list[set[str]],
    lists_at_once: int,
    bytes_at_once: int,
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    given_lists = []
    for number, words in enumerate(lists):
        content = "".join(f"{word}\n" for word in sorted(words)).encode()
        (folder / f"list-{number}").write_bytes(b"before" + content + b"after")
        given_lists.append(WordList(folder / f"list-{number}", 6, len(content), len(words)))
    merged, tables = merge(
        given_lists, folder, lists_at_once=lists_at_once, bytes_at_once=bytes_at_once
    )
    expected = sorted(set().union(*lists))
    assert merged.file.read_bytes().decode() == "".join(f"{word}\n" for word in expected)
    assert merged.count == len(expected)
    assert merged.size == merged.file.stat().st_size
    for number, words in enumerate(lists):
        assert [expected[place] for place in tables.read(number)] == sorted(words)
