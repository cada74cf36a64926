"""Clients that ask and leave: the server notices at once and does not work for them."""

from pathlib import Path

from integration.serve_load.hang_up import CLIENTS, hang_up
from integration.serve_load.server_process import running_server
from integration.serve_load.slow_batch import tokens_that_take

OPTIONS = ["--max-batch-tokens", "65536", "--max-sentence-tokens", "60000"]
SECONDS_OF_WORK = 4.0
# Half a second is asked for in benchmarks/serve.py; a busy machine may need longer.
MOST_SECONDS = 3.0


def test_500_clients_that_hang_up(small_model: Path, tmp_path: Path) -> None:
    with running_server(tmp_path, ["--model", str(small_model), *OPTIONS]) as server:
        blocker = [["word"] * tokens_that_take(server, SECONDS_OF_WORK, most=60_000)]
        found = hang_up(server, blocker=blocker)
        assert server.unfinished() == 0
        assert server.stop() == 0
    assert found.queued >= 0.9 * CLIENTS
    assert found.seen < MOST_SECONDS
    assert found.still_computing, "nothing is shown where they would have been computed anyway"
    assert found.cancelled >= 0.99 * found.queued
    assert found.computed <= 0.01 * found.queued
