"""Which row reads which token when."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elmokit.engine.cuda.plan import DIRECTIONS, MOST_ROWS, NOTHING, STEPS, WIDTHS, Plan


def spans(plan: Plan) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    sizes = [STEPS * DIRECTIONS * width for width in plan.widths]
    pieces = np.split(plan.tokens, np.cumsum(sizes)[:-1])
    return [
        piece.reshape(STEPS, DIRECTIONS, width)
        for piece, width in zip(pieces, plan.widths, strict=True)
    ]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=80), st.integers(0, 5))
def test_each_sentence_is_read_in_its_row_from_both_ends(lengths: list[int], first: int) -> None:
    plan = Plan(lengths, first=first)
    begins = np.cumsum([first, *lengths])
    for row, sentence in enumerate(plan.order):
        read = [
            [step[direction, row] for span in spans(plan) for step in span if row < span.shape[2]]
            for direction in range(DIRECTIONS)
        ]
        ahead, behind = ([token for token in tokens if token != NOTHING] for tokens in read)
        assert ahead == list(range(begins[sentence], begins[sentence + 1]))
        assert behind == ahead[::-1]
        # Once a row has ended it never reads again.
        assert all(token == NOTHING for token in read[0][len(ahead) :])


@given(st.lists(st.integers(1, 30), min_size=1, max_size=80))
def test_spans_are_no_wider_than_needed(lengths: list[int]) -> None:
    plan = Plan(lengths)
    assert len(plan.widths) == -(-max(lengths) // STEPS)
    for number, width in enumerate(plan.widths):
        rows = sum(length > number * STEPS for length in lengths)
        assert width == min(known for known in WIDTHS if known >= rows)


def test_rows_beyond_all_sentences_read_nothing() -> None:
    plan = Plan([3])
    assert plan.widths == [WIDTHS[0]]
    assert (spans(plan)[0][:, :, 1:] == NOTHING).all()


def test_the_largest_plan() -> None:
    assert Plan([1] * MOST_ROWS).widths == [MOST_ROWS]
