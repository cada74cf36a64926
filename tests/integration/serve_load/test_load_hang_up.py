"""Clients that ask and leave: the server notices at once and does not work for them."""

from pathlib import Path

from integration.serve_load.hang_up import CLIENTS, hang_up
from integration.serve_load.server_process import running_server
from integration.serve_load.slow_batch import tokens_that_take

# The bundled model: a small one is too fast to be busy for long with what a request may hold.
OPTIONS = ["--max-batch-tokens", "32768", "--max-sentence-tokens", "30000"]
# The second is for a machine that needs longer than the first to take 500 requests.
SECONDS_OF_WORK = (6.0, 20.0)
# Half a second is asked for in benchmarks/serve.py; a busy machine may need longer.
MOST_SECONDS = 3.0


def test_500_clients_that_hang_up(tmp_path: Path) -> None:
    with running_server(tmp_path, OPTIONS) as server:
        for seconds in SECONDS_OF_WORK:
            blocker = [["word"] * tokens_that_take(server, seconds, most=30_000)]
            found = hang_up(server, blocker=blocker)
            if found.still_computing and found.queued >= 0.9 * CLIENTS:
                break
        assert server.unfinished() == 0
        assert server.stop() == 0
    assert found.queued >= 0.9 * CLIENTS
    assert found.seen < MOST_SECONDS
    assert found.still_computing, "nothing is shown where they would have been computed anyway"
    assert found.cancelled >= 0.99 * found.queued
    assert found.computed <= 0.01 * found.queued
