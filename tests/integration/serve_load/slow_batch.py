"""How long a sentence must be to keep a server busy for a while."""

import json
import time

from integration.serve_load.server_process import ServerProcess

TRIED = 1000


def tokens_that_take(server: ServerProcess, seconds: float, *, most: int) -> int:
    """Give a number of tokens of one sentence that take about so long; they are read in turn."""
    body = json.dumps({"input": [["word"] * TRIED], "encoding_format": "base64"}).encode()
    taken = []
    for _ in range(3):
        since = time.monotonic()
        assert server.ask("POST", "/v1/tokens", body).status == 200
        taken.append(time.monotonic() - since)
    return min(most, round(TRIED * seconds / min(taken)))
