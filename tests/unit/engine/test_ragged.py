"""Sentences of different length, read step by step without padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmokit.engine.ragged import RaggedBatch

LENGTHS = st.lists(st.integers(min_value=1, max_value=9), min_size=1, max_size=8)


@given(LENGTHS)
def test_each_direction_reads_every_token_in_its_order(lengths: list[int]) -> None:
    batch = RaggedBatch(lengths)
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    rows = batch.order.tolist()
    assert [lengths[row] for row in rows] == sorted(lengths, reverse=True)
    place = 0
    for step, active in enumerate(batch.active):
        assert active == sum(length > step for length in lengths)
        for row in rows[:active]:
            assert batch.forward.tokens[place] == starts[row] + step
            assert batch.backward.tokens[place] == starts[row] + lengths[row] - 1 - step
            place += 1
    assert place == len(batch) == sum(lengths)


@given(LENGTHS)
def test_places_lead_back(lengths: list[int]) -> None:
    batch = RaggedBatch(lengths)
    for reading in (batch.forward, batch.backward):
        assert torch.equal(reading.tokens[reading.places], torch.arange(len(batch)))


@given(LENGTHS)
def test_last_tokens(lengths: list[int]) -> None:
    batch = RaggedBatch(lengths)
    ends = [sum(lengths[: row + 1]) - 1 for row in batch.order.tolist()]
    assert batch.forward.tokens[batch.last].tolist() == ends


@given(LENGTHS, st.integers(min_value=1, max_value=20))
def test_spans_cover_all_steps(lengths: list[int], tokens: int) -> None:
    batch = RaggedBatch(lengths)
    spans = list(batch.spans(tokens))
    assert [rows for span in spans for rows in span.active] == batch.active
    assert [span.first for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert spans[-1].end == len(batch)
    for span in spans[:-1]:
        assert span.end - span.first == sum(span.active) >= tokens


def test_sentences_of_one_length_stay_in_order() -> None:
    assert RaggedBatch([3, 5, 3, 5]).order.tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("lengths", [[1], [4], [1, 1]])
def test_small_batches(lengths: list[int]) -> None:
    assert RaggedBatch(lengths).active == [len(lengths)] * lengths[0]
