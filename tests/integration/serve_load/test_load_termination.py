"""SIGTERM under load: every request that was accepted gets its answer, and the exit code is 0."""

from pathlib import Path

import pytest

from elmokit.embed.load import load
from integration.serve_load.requests_file import WORDS, made_sentences, write_requests
from integration.serve_load.server_process import running_server
from integration.serve_load.termination import terminate_under_load


@pytest.fixture(scope="module")
def requests(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("load") / "requests.json"
    sentences = made_sentences(300, words=WORDS)
    return write_requests(file, sentences, load(small_model, device="cpu"))


@pytest.mark.parametrize("after", [0.3, 0.8, 1.4])
def test_nothing_accepted_is_lost(
    small_model: Path, requests: Path, after: float, tmp_path: Path
) -> None:
    with running_server(tmp_path, ["--model", str(small_model)]) as server:
        found = terminate_under_load(server, requests, after=after)
    assert found.exit_code == 0
    assert found.sent_before > 0
    assert found.lost == 0, found
    assert found.broken == 0
    assert found.mixed == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text(encoding="utf-8")
