"""One direction over rows of words: the engine's way against the plain modules."""

import numpy as np
import pytest
import torch

from elmokit.engine.cpu import precision
from elmokit.engine.embedder import Embedder, embedder_for, reader_for
from elmokit.engine.reader import OneDirection, PlainReader, Reader
from elmokit.engine.runner import Runner
from elmokit.nn.projected_lstm import LSTMState
from small_models import CONFIG, CONFIGS, assert_near, runner_for, some_state

WORDS = ["the", "cat", "sat", "on", "a", "mat", "."]
ROWS = [
    np.array(row, dtype=np.int32)
    for row in ([3], [0, 1, 2, 3, 4, 5, 6, 0, 1], [1, 1], [6, 5, 4, 3], [2])
]


@pytest.fixture(params=CONFIGS)
def runner(request: pytest.FixtureRequest) -> Runner:
    return runner_for(CONFIGS[request.param])


def engine(runner: Runner) -> Reader:
    found = reader_for(
        runner, dtype="float32", embedder=lambda: embedder_for(runner, dtype="float32")
    )
    assert not isinstance(found, PlainReader)
    return found


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_engine_reads_what_the_plain_modules_read(
    runner: Runner, direction: OneDirection
) -> None:
    """To 1e-5, as promised for float32; cells are several times larger, and so are their errors."""
    for rows in (1, len(ROWS)):
        state: LSTMState = getattr(some_state(runner, rows), direction)
        found, found_end = engine(runner).read(direction, WORDS, ROWS, state)
        wanted, wanted_end = PlainReader(runner).read(direction, WORDS, ROWS, state)
        assert_near([found], [wanted])
        assert_near(list(found_end), list(wanted_end), atol=5e-5)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("reader", [PlainReader, engine])
def test_a_row_is_read_word_by_word(direction: OneDirection, reader: type[PlainReader]) -> None:
    """One step of the module at a time, the state carried, gives what a pass gives, to 1e-5."""
    runner = runner_for(CONFIG)
    state: LSTMState = getattr(some_state(runner, len(ROWS)), direction)
    hidden, end = reader(runner).read(direction, WORDS, ROWS, state)
    stack = getattr(runner.bilm, f"{direction}_lstm")
    first = 0
    for number, row in enumerate(ROWS):
        own = LSTMState(*(part[:, number : number + 1] for part in state))
        for step, word in enumerate(row):
            with torch.no_grad():
                vector = runner.word_vectors([WORDS[word]])[None]  # (1, 1, P)
                layers, own = stack(vector, [1], own)
            assert_near([hidden[first + step]], [layers[-1][0, 0]])
        assert_near([part[:, number : number + 1] for part in end], list(own), atol=5e-5)
        first += len(row)


@pytest.mark.parametrize("reader", [PlainReader, engine])
def test_a_row_does_not_depend_on_the_others(reader: type[PlainReader]) -> None:
    runner = runner_for(CONFIG)
    state = some_state(runner, 1).forward
    together, _ = reader(runner).read("forward", WORDS, ROWS, state)
    alone = [reader(runner).read("forward", WORDS, [row], state)[0] for row in ROWS]
    assert torch.equal(together, torch.cat(alone))


def test_an_engine_without_all_digits_is_not_even_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities from products in 8 bits would be too coarse to compare."""

    def embedder() -> Embedder:
        raise AssertionError("it would hold weights of its own")

    monkeypatch.setattr(precision, "LEAST_BESIDE_FLOAT32", 0)
    monkeypatch.setattr(precision, "LEAST_BESIDE_BFLOAT16", 0)
    runner = runner_for(CONFIG)
    assert isinstance(reader_for(runner, dtype="int8", embedder=embedder), PlainReader)
    wide = Runner(runner.bilm.double(), indexer=runner.indexer, marks=runner.marks)
    assert isinstance(reader_for(wide, dtype="float64", embedder=embedder), PlainReader)
