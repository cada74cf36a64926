"""What the server says of itself is true of thousands of requests, right and wrong ones."""

from pathlib import Path

import pytest

from integration.serve_load.random_gets import random_gets
from integration.serve_load.schema_fuzz import Fuzzed, fuzz_schema
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.unfinished import UnfinishedClients

WITHOUT_INPUT = ("/livez", "/readyz", "/v1/models", "/v1/capabilities", "/metrics", "/openapi.json")
WITH_INPUT = {
    "POST /v1/embeddings",
    "POST /v1/tokens",
    "POST /v1/score",
    "POST /v1/substitutes",
    "POST /v1/neighbours",
    "POST /v1/tasks/{name}",
    "GET /v1/models/{name}",
}


def assert_holds(found: Fuzzed, *, least: int) -> None:
    assert found.failures == {}
    assert found.server_errors == 0
    assert found.unanswered == 0
    assert len(found.cases) == found.operations >= len(WITH_INPUT)
    assert {name: found.cases[name] for name in WITH_INPUT if found.cases[name] < least} == {}
    # Right requests are answered, not only refused, and wrong ones are among them.
    assert found.statuses[200] > found.operations
    assert min(found.modes["positive"], found.modes["negative"]) > least
    assert {"coverage", "fuzzing", "stateful"} <= set(found.phases)


def test_a_hundred_cases_of_each_operation(
    fuzzed_server: ServerProcess, unfinished: UnfinishedClients, tmp_path: Path
) -> None:
    assert_holds(fuzz_schema(fuzzed_server.port, tmp_path, examples=100), least=100)


@pytest.mark.slow
def test_a_thousand_cases_of_each_operation(fuzzed_server: ServerProcess, tmp_path: Path) -> None:
    assert_holds(fuzz_schema(fuzzed_server.port, tmp_path, examples=1000, seed=1), least=1000)


@pytest.mark.parametrize("target", WITHOUT_INPUT)
def test_routes_without_input_do_not_mind_what_comes_with_a_request(
    fuzzed_server: ServerProcess, target: str
) -> None:
    assert random_gets(fuzzed_server, target, count=100) == {200: 100}
