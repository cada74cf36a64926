"""What is remembered between sentences: nothing, a fixed state, or all of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.start_state import CarriedState, checked_start
from elmokit.engine.runner import NEUTRAL_REPEATS, NEUTRAL_SENTENCE, map_state
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMState
from elmokit.pretrained.untrained import TINY_CONFIG

MakeElmo = Callable[..., Elmo]

A, B, C, D, E = (sentence.split() for sentence in ("one .", "two , three", "x", "y z", "w w w w"))


def top(output: Any, row: int, tokens: int) -> Any:
    """Cut one sentence out of the runner's output, as ``layers="top"`` does."""
    return output.layers[-1][row, 1 : tokens + 1].numpy()


@pytest.fixture
def carrying(make_elmo: MakeElmo) -> Elmo:
    return make_elmo(start="carry")


@pytest.mark.parametrize("start", ["zeros", "warm", "carry"])
def test_the_three_starts(start: str) -> None:
    assert checked_start(start) == start


@pytest.mark.parametrize("start", ["", "Warm", "cold"])
def test_an_unknown_start_is_named(start: str) -> None:
    with pytest.raises(InputError) as caught:
        checked_start(start)
    assert str(caught.value) == f"start: expected one of zeros, warm, carry, found {start!r}"


@pytest.mark.parametrize("rows", [0, -3])
def test_a_state_needs_rows(rows: int) -> None:
    with pytest.raises(InputError, match=f"^rows: expected a whole number above 0, found {rows}$"):
        CarriedState(rows=rows)


def test_carrying_starts_from_zeros_and_then_remembers(carrying: Elmo, make_elmo: MakeElmo) -> None:
    first, second = (carrying.embed([A])[0] for _ in range(2))
    np.testing.assert_array_equal(first, make_elmo(start="zeros").embed([A])[0])
    assert np.abs(first - second).max() > 1e-3


def test_reset_forgets(carrying: Elmo) -> None:
    first = carrying.embed([A, B])
    carrying.embed([C, D])
    carrying.state.reset()
    for before, after in zip(first, carrying.embed([A, B]), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_copy_goes_its_own_way(carrying: Elmo) -> None:
    carrying.embed([A])
    kept = carrying.state.copy()
    first = carrying.embed([B])[0]
    carrying.embed([C])
    np.testing.assert_array_equal(carrying.embed([B], state=kept.copy())[0], first)
    np.testing.assert_array_equal(carrying.embed([B], state=kept)[0], first)
    assert np.abs(carrying.embed([B], state=kept)[0] - first).max() > 1e-3


def test_a_copy_of_a_fresh_state_is_fresh() -> None:
    assert CarriedState(rows=3).copy().rows == 3


def test_an_explicit_state_does_what_the_default_one_does(make_elmo: MakeElmo) -> None:
    by_default, explicit, state = make_elmo(start="carry"), make_elmo(start="carry"), CarriedState()
    for sentences in ([A, B], [C], [D, E, A]):
        expected = by_default.embed(sentences)
        for before, after in zip(expected, explicit.embed(sentences, state=state), strict=True):
            np.testing.assert_array_equal(before, after)
    # The model's own state has not been used.
    np.testing.assert_array_equal(explicit.embed([A])[0], make_elmo(start="zeros").embed([A])[0])


def test_rows_by_hand(carrying: Elmo) -> None:
    """Two rows: A B, then C in row 0 while row 1 rests, then D after C and E after B."""
    state = CarriedState(rows=2)
    first = carrying.embed([A, B, C], layers="top", state=state)
    second = carrying.embed([D, E], layers="top", state=state)

    runner = carrying.runner
    both = runner.run([A, B], runner.zero_state(2))
    row_0 = runner.run([C], map_state(both.state, lambda tensor: tensor[:, :1]))
    joined = [
        [torch.cat([new, old[:, 1:]], dim=1) for new, old in zip(*parts, strict=True)]
        for parts in zip(row_0.state, both.state, strict=True)
    ]
    directions = [type(both.state.forward)(*parts) for parts in joined]
    last = runner.run([D, E], BiLMState(*directions))
    by_hand = [top(both, 0, 2), top(both, 1, 3), top(row_0, 0, 1), top(last, 0, 2), top(last, 1, 4)]
    for found, expected in zip([*first, *second], by_hand, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_smaller_batch_leaves_later_rows_untouched(carrying: Elmo) -> None:
    carrying.embed([A, B])
    kept = carrying.state.copy()
    carrying.embed([C])
    carrying.embed([C])
    after_b = carrying.embed([D, E])[1]
    np.testing.assert_allclose(after_b, carrying.embed([D, E], state=kept)[1], atol=1e-6)


def test_batch_tokens_does_not_cut_the_original_s_batches(make_elmo: MakeElmo) -> None:
    sentences = [A, B, C, D, E] * 3
    wide, narrow = (
        make_elmo(start="carry").embed(sentences, batch_tokens=size) for size in (4096, 1)
    )
    for before, after in zip(wide, narrow, strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_sentence_without_tokens_still_passes_its_marks_on(carrying: Elmo) -> None:
    assert [vectors.shape for vectors in carrying.embed([[], ""])] == [(0, 16), (0, 16)]
    after_marks = carrying.embed([A])[0]
    carrying.state.reset()
    assert np.abs(carrying.embed([A])[0] - after_marks).max() > 1e-4


def test_warm_is_five_full_stops_and_then_the_sentence(carrying: Elmo, make_elmo: MakeElmo) -> None:
    assert (NEUTRAL_SENTENCE, NEUTRAL_REPEATS) == ((".",), 5)
    for _ in range(5):
        carrying.embed([["."]])
    after = carrying.embed([E], layers="all")[0]
    warm = make_elmo(start="warm").embed([E], layers="all")[0]
    np.testing.assert_allclose(warm, after, atol=1e-6)
    zeros = make_elmo(start="zeros").embed([E], layers="all")[0]
    assert np.abs(warm - zeros).max() > 1e-3


def test_the_warm_state_is_computed_once(make_elmo: MakeElmo) -> None:
    elmo = make_elmo()
    assert elmo.warm_state is elmo.warm_state


def test_encode_carries_too(carrying: Elmo) -> None:
    assert np.abs(carrying.encode("a b") - carrying.encode("a b")).max() > 1e-4


@pytest.mark.parametrize("other", [{"dtype": "float64"}, {"config": TINY_CONFIG}])
def test_a_state_of_another_model_is_refused(make_elmo: MakeElmo, other: dict[str, Any]) -> None:
    state = CarriedState()
    make_elmo(start="carry", **other).embed([A], state=state)
    with pytest.raises(InputError, match=r"^state: .*another model.*reset"):
        make_elmo(start="carry").embed([A], state=state)
    state.reset()
    make_elmo(start="carry").embed([A], state=state)


def test_what_is_no_state_is_refused(carrying: Elmo) -> None:
    state: Any = "a state"
    with pytest.raises(InputError, match="state"):
        carrying.embed([A], state=state)
