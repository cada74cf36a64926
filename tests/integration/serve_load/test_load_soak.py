"""Steady load on a real server: nothing lost, nothing mixed up, and memory stays.

The sentences are made of a closed vocabulary, and all of them are sent once before memory counts:
the cache of words is meant to grow until then.
"""

from pathlib import Path

from elmokit.embed.load import load
from integration.serve_load.requests_file import WORDS, made_sentences, write_requests
from integration.serve_load.server_process import running_server
from integration.serve_load.soak import measured_capacity, send_large_requests, soak

SENTENCES = 1000
# With batches of this size at least 4,096 tokens may wait, as many as all clients together send:
# nobody is refused, however slow the machine is.
OPTIONS = ["--model", "tiny-untrained", "--max-batch-tokens", "32768"]
SECONDS, WARM_UP = 60.0, 10.0
MOST_RATE = 300.0
"""More says no more, and takes the machine from whatever else runs on it."""
# Twice what benchmarks/serve.py asks for. An answer has 2.8 kB on average; if each stayed, some
# 4,000 of them would make 2.6 % of this server's memory between the times that are compared.
MOST_GROWTH = 0.02


def test_64_clients_for_a_while(tmp_path: Path) -> None:
    (tmp_path / "load").mkdir()
    elmo = load("tiny-untrained", device="cpu")
    sentences = made_sentences(SENTENCES, words=WORDS)
    file = tmp_path / "load" / "requests.json"
    requests = write_requests(file, sentences, elmo, tokens_every=2)
    with running_server(tmp_path, OPTIONS) as server:
        capacity, first = measured_capacity(server, requests, seconds=300, count=SENTENCES)
        assert first.statuses() == {200: SENTENCES}
        send_large_requests(server, sentences)
        rate = min(0.8 * capacity, MOST_RATE)
        found = soak(server, requests, rate=rate, seconds=SECONDS, warm_up=WARM_UP)
        assert server.stop() == 0
    assert len(found.seen.sent) >= 0.5 * rate * SECONDS
    assert found.lost == 0
    assert found.mixed == 0, f"up to {found.worst} from the reference"
    assert found.growth < MOST_GROWTH


def test_another_sentence_would_be_seen() -> None:
    """What the check of a soak rests on: sentences differ by much more than its tolerance."""
    elmo = load("tiny-untrained", device="cpu")
    vectors = elmo.encode(made_sentences(200, words=WORDS))
    nearest = min(
        abs(vectors[one] - vectors[other]).max() for one in range(200) for other in range(one)
    )
    assert nearest > 1000 * 1e-5
