"""What old code asks of AllenNLP 0.9, asked of elmokit and compared with AllenNLP's own answers.

`allennlp_answers.json` was recorded from the real library by `record_allennlp.py`. The tolerance:
both are float32 and their sums have 16 terms at most; gradients are sums over all tokens.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.compat import allennlp
from elmokit.embed.start_state import Start
from unit.compat.allennlp_calls import BATCHES, CALLS, plain
from unit.compat.allennlp_weights import write_model

TOLERANCE = 3e-6
RECORDED = json.loads((Path(__file__).parent / "allennlp_answers.json").read_text("utf-8"))
ANSWERS: dict[str, Any] = RECORDED["answers"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write_model(tmp_path)


def ask(name: str, files: tuple[str, str], folder: Path, **kwargs: Any) -> Any:
    return plain(
        CALLS[name](allennlp, files=files, folder=folder, **kwargs)
        if name == "file"
        else CALLS[name](allennlp, files=files, **kwargs)
    )


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    """Same structure, shapes and types; numbers within the tolerance."""
    if isinstance(expected, dict) and "values" in expected:
        assert (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"]), where
        np.testing.assert_allclose(
            found["values"], expected["values"], rtol=TOLERANCE, atol=TOLERANCE, err_msg=where
        )
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, part in enumerate(expected):
            assert_same(found[number], part, f"{where}/{number}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4), where
    else:
        assert found == expected, where


def test_the_answers_are_of_the_real_library() -> None:
    assert RECORDED["allennlp"].startswith("0.9.0")
    assert list(ANSWERS) == list(CALLS)


@pytest.mark.parametrize("name", list(CALLS))
def test_with_the_state_carried_every_answer_is_allennlps(
    name: str, files: tuple[str, str], tmp_path: Path
) -> None:
    keywords = {} if name == "ids" else {"start": "carry"}
    assert_same(ask(name, files, tmp_path, **keywords), ANSWERS[name])


@pytest.mark.parametrize(
    "name", ["layer norm", "boundaries", "fixed mix", "more dimensions", "weights", "gradients"]
)
def test_without_it_the_answers_to_a_first_call_are(
    name: str, files: tuple[str, str], tmp_path: Path
) -> None:
    assert_same(ask(name, files, tmp_path), ANSWERS[name])


@pytest.mark.parametrize("start", ["zeros", "warm"])
def test_without_it_every_call_is_a_first_call(start: Start, files: tuple[str, str]) -> None:
    elmo = allennlp.Elmo(*files, 1, dropout=0.0, start=start)
    ids = allennlp.batch_to_ids(BATCHES[0])
    first = elmo(ids)["elmo_representations"][0]
    elmo(allennlp.batch_to_ids(BATCHES[2]))
    again = elmo(ids)["elmo_representations"][0]
    assert bool((first == again).all())
    expected = np.array(ANSWERS["module"][0]["elmo_representations"][0]["values"])
    gap = np.abs(first.detach().numpy().ravel() - expected).max()
    assert (gap <= TOLERANCE) == (start == "zeros")
    embedder = allennlp.ElmoEmbedder(*files, start=start)
    one, two = (embedder.embed_sentence(BATCHES[0][0]) for _ in range(2))
    assert (one == two).all()


def test_the_recorded_state_matters(files: tuple[str, str]) -> None:
    """From the second batch on AllenNLP's numbers cannot be had without its state."""
    elmo = allennlp.Elmo(*files, 1, dropout=0.0)
    found = elmo(allennlp.batch_to_ids(BATCHES[3]))["elmo_representations"][0]
    expected = np.array(ANSWERS["module"][3]["elmo_representations"][0]["values"])
    assert np.abs(found.detach().numpy().ravel() - expected).max() > 0.01


def test_resetting_starts_over(files: tuple[str, str], tmp_path: Path) -> None:
    elmo = allennlp.Elmo(*files, 1, dropout=0.0, start="carry")
    ids = allennlp.batch_to_ids(BATCHES[0])
    first, second = elmo(ids), elmo(ids)
    elmo.reset_states()
    again = elmo(ids)
    assert bool((first["elmo_representations"][0] == again["elmo_representations"][0]).all())
    assert not bool((first["elmo_representations"][0] == second["elmo_representations"][0]).all())
