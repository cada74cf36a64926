"""More than a server can do: it says so at once, to those it cannot serve, and goes on.

Times are measured in benchmarks/serve.py, on a machine that does nothing else. Here only what no
machine may change is asked for.
"""

from pathlib import Path

from elmokit.embed.load import load
from integration.serve_load.overload import overload
from integration.serve_load.requests_file import WORDS, made_sentences, write_requests
from integration.serve_load.server_process import running_server
from integration.serve_load.soak import measured_capacity

SECONDS = 6.0
# A machine that others use may keep clients waiting for a while after the server is idle.
MOST_SECONDS_TO_RECOVER = 5.0


def test_four_times_too_much(small_model: Path, tmp_path: Path) -> None:
    (tmp_path / "load").mkdir()
    elmo = load(small_model, device="cpu")
    sentences = made_sentences(400, words=WORDS)
    requests = write_requests(tmp_path / "load" / "requests.json", sentences, elmo)
    with running_server(tmp_path, ["--model", str(small_model)]) as server:
        capacity, _ = measured_capacity(server, requests, seconds=4)
        found = overload(server, requests, capacity=capacity, normal=3, seconds=SECONDS)
        assert server.unfinished() == 0
        assert server.stop() == 0
    assert set(found.statuses) == {200, 429}
    assert found.statuses[429] > 0
    assert found.without_advice == 0
    assert found.mixed == 0
    # Refusing costs little: what can be done is done.
    assert found.accepted > 0.4 * capacity
    assert found.recovery < MOST_SECONDS_TO_RECOVER
