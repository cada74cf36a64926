"""Any bytes at all: no answer of 500 or more, no hang, nothing told, and the next is answered."""

import base64
import json

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from integration.serve_load.case_runner import run_case
from integration.serve_load.cases.case import MARKER, Case
from integration.serve_load.cases.corpus import corpus, corpus_of_other_routes
from integration.serve_load.cases.unusual_text import UNUSUAL
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.unfinished import UnfinishedClients

ORDINARY = "The cat sat on the mat ."
LEAST_CASES = 200


@pytest.fixture(scope="module")
def reference(fuzzed_server: ServerProcess) -> Elmo:
    """The server's model, in this process."""
    return load(fuzzed_server.log.parent / "tiny", device="cpu")


def is_answered_right(server: ServerProcess, expected: np.ndarray) -> bool:
    body = json.dumps({"input": ORDINARY, "encoding_format": "base64"}).encode()
    answer = server.ask("POST", "/v1/embeddings", body)
    found = json.loads(answer.body)["data"][0]["embedding"]
    vector = np.frombuffer(base64.b64decode(found), dtype="<f4")
    return answer.status == 200 and bool(np.abs(vector - expected).max() <= 1e-5)


def problems_of(cases: list[Case], server: ServerProcess, reference: Elmo) -> dict[str, list[str]]:
    expected = reference.encode([ORDINARY])[0]
    found = {}
    for case in cases:
        problems = run_case(case, server.port)
        if not is_answered_right(server, expected):
            problems.append("the next request was not answered right")
        if problems:
            found[case.name] = problems
    return found


def test_the_corpus_is_large_and_its_cases_differ() -> None:
    cases = corpus()
    assert len(cases) >= LEAST_CASES
    assert len({case.name for case in cases}) == len(cases)
    assert len({(case.sends, case.end) for case in cases}) == len(cases)
    unmarked = [case.name for case in cases if MARKER.encode() not in case.sent]
    assert unmarked == ["half closed at once", "reset before anything"]


def test_no_bytes_break_the_server(
    fuzzed_server: ServerProcess, unfinished: UnfinishedClients, reference: Elmo
) -> None:
    assert problems_of(corpus(), fuzzed_server, reference) == {}
    assert fuzzed_server.process.poll() is None


@pytest.mark.slow
def test_no_bytes_break_the_other_routes(fuzzed_server: ServerProcess, reference: Elmo) -> None:
    assert problems_of(corpus_of_other_routes(), fuzzed_server, reference) == {}


def test_unusual_text_keeps_its_places(fuzzed_server: ServerProcess) -> None:
    """Offsets count characters, also where encodings need several units for one."""
    for name, text in UNUSUAL.items():
        body = json.dumps({"input": text, "encoding_format": "base64"}).encode()
        answer = json.loads(fuzzed_server.ask("POST", "/v1/tokens", body).body)
        tokens = answer["data"][0]["tokens"]
        assert [text[one["start"] : one["end"]] for one in tokens] == [
            one["text"] for one in tokens
        ], name


def test_nothing_of_the_corpus_is_in_the_log(fuzzed_server: ServerProcess) -> None:
    """Nor has any request failed in a way that the server did not foresee."""
    log = fuzzed_server.log.read_text(encoding="utf-8")
    assert MARKER not in log
    assert "Traceback" not in log
