"""Several processes give what one gives, in order."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.embed.workers import Workers
from elmokit.errors import ElmoError, InputError
from elmokit.pretrained.untrained import untrained_checkpoint

SENTENCES = [["the", "cat", str(number)] * (number % 4 + 1) for number in range(40)] + [[], ["."]]


@pytest.fixture(scope="module")
def elmo() -> Iterator[Elmo]:
    elmo = Elmo(untrained_checkpoint(), device="cpu")
    yield elmo
    if elmo._workers is not None:
        elmo._workers.close()


def test_the_same_vectors_in_the_same_order(elmo: Elmo) -> None:
    """Many small windows, so that both processes have some of them at the same time."""
    expected = elmo.embed(SENTENCES, layers="all")
    found = elmo.embed(SENTENCES, layers="all", workers=2, batch_tokens=4)
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6, rtol=0)


def test_processes_are_kept_for_the_next_call(elmo: Elmo) -> None:
    elmo.embed(["A sentence."], workers=2)
    workers = elmo._workers
    assert workers is not None
    found = elmo.embed(["A sentence.", "Another."], device=["cpu", "cpu"])
    assert elmo._workers is workers
    assert [len(vectors) for vectors in found] == [3, 2]


def test_a_process_that_dies_is_an_error(elmo: Elmo) -> None:
    workers = Workers(elmo, ["cpu"])
    list(workers.embed([[["a"]]], layers="top", batch_tokens=64))
    for process in workers._pool.processes:
        process.kill()
    with pytest.raises(ElmoError, match=r"ended by SIGKILL.*--workers"):
        list(workers.embed([[["a"]]], layers="top", batch_tokens=64))
    workers.close()


UNGUARDED = """
import elmokit
elmo = elmokit.load("tiny-untrained")
print([vectors.shape for vectors in elmo.embed(["A sentence.", "Another."] * 2, workers=2)])
"""


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    found = subprocess.run([sys.executable, script], capture_output=True, check=True, text=True)
    assert found.stdout == "[(3, 64), (2, 64), (3, 64), (2, 64)]\n"


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_wrong_numbers_of_workers(elmo: Elmo, workers: object) -> None:
    with pytest.raises(InputError, match=f"workers: expected .*found {workers!r}"):
        elmo.embed(["a"], workers=workers)  # type: ignore[call-overload]


@pytest.mark.parametrize("device", ["cpu", []])
def test_wrong_lists_of_devices(elmo: Elmo, device: object) -> None:
    with pytest.raises(InputError, match="device: expected a list of devices"):
        elmo.embed(["a"], device=device)  # type: ignore[call-overload]


def test_unknown_devices_and_other_mistakes(elmo: Elmo) -> None:
    with pytest.raises(InputError, match="'gpu'"):
        elmo.embed(["a"], device=["cpu", "gpu"])
    with pytest.raises(InputError, match="found 3 and 1"):
        elmo.embed(["a"], device=["cpu"], workers=3)
    with pytest.raises(InputError, match="layers 0 to 2, found 7"):
        elmo.embed(["a"], workers=2, layers=7)
    with pytest.raises(InputError, match="batch_tokens"):
        elmo.embed(["a"], workers=2, batch_tokens=0)


def test_a_carried_state_is_not_shared() -> None:
    elmo = Elmo(untrained_checkpoint(), device="cpu", start="carry")
    with pytest.raises(InputError, match="workers: a state that is carried"):
        elmo.embed(["a"], workers=2)
