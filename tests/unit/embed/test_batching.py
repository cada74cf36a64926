from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed.batching import batch_tokens_of, batches, check_batch_tokens
from elmokit.errors import InputError


@given(
    lengths=st.lists(st.integers(2, 60), max_size=60),
    batch_tokens=st.integers(1, 200),
    batch_rows=st.none() | st.integers(1, 8),
)
def test_every_sentence_is_in_one_batch_within_the_budget(
    lengths: list[int], batch_tokens: int, batch_rows: int | None
) -> None:
    found = list(batches(lengths, batch_tokens=batch_tokens, batch_rows=batch_rows))
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= batch_tokens
        assert batch_rows is None or len(batch) <= batch_rows


def test_sentences_of_like_length_are_together() -> None:
    found = list(batches([3, 50, 4, 48, 3], batch_tokens=100))
    assert found == [[1, 3], [2, 0, 4]]


def test_a_sentence_above_the_budget_is_alone() -> None:
    assert list(batches([5, 1000, 5], batch_tokens=10)) == [[1], [0, 2]]


def test_no_sentences_no_batches() -> None:
    assert list(batches([], batch_tokens=10)) == []


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", True])
def test_a_budget_that_no_batch_meets_is_refused(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        check_batch_tokens(value)
    assert str(caught.value).startswith("batch_tokens: expected a whole number above 0")
    assert repr(value) in str(caught.value)


def test_a_gpu_is_given_more_at_once() -> None:
    check_batch_tokens(None)
    assert batch_tokens_of("cuda:1") > batch_tokens_of("cpu")
