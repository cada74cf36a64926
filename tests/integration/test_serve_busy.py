"""A server that has too much to do, clients that leave, and an end in the middle of work.

A gate before the model holds batches up, so that nothing here depends on how fast a machine is.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from unit.serve.small_service import PATIENCE, Gate, Running, running, small_service

# One for all, because it takes longer to make one than to ask.
CLIENT = httpx.Client(timeout=PATIENCE)


# At the very end: workers that steal tests from each other come back to this module.
@pytest.fixture(scope="session", autouse=True)
def _closed_client() -> Iterator[None]:
    yield
    CLIENT.close()


@pytest.fixture
def gated() -> Iterator[tuple[Running, Gate]]:
    service = small_service(queue_requests=40, queue_tokens=10_000, batch_tokens=1100)
    with running(service) as server:
        gate = Gate(service.default.elmo)
        yield server, gate
        gate.open()


def until(condition: Callable[[], bool]) -> float:
    """Wait for something; gives the seconds that it took."""
    since = time.monotonic()
    while not condition():
        assert time.monotonic() - since < PATIENCE
        time.sleep(0.005)
    return time.monotonic() - since


def metric(server: Running, line: str) -> float:
    for found in CLIENT.get(f"{server.url}/metrics").text.splitlines():
        if found.startswith(f"{line} "):
            return float(found.split()[-1])
    return 0.0


def ask(server: Running, text: str, path: str = "/v1/embeddings") -> httpx.Response:
    return CLIENT.post(f"{server.url}{path}", json={"input": text})


def hold_up(server: Running, gate: Gate, pool: ThreadPoolExecutor) -> "Future[httpx.Response]":
    """Have the model busy with one request."""
    gate.close()
    first = pool.submit(ask, server, "the first")
    until(lambda: gate.reached.is_set() or first.done())
    assert gate.reached.is_set(), first.result().text
    return first


def test_requests_that_wait_share_the_next_batch(gated: tuple[Running, Gate]) -> None:
    server, gate = gated
    with ThreadPoolExecutor(20) as pool:
        first = hold_up(server, gate, pool)
        others = [pool.submit(ask, server, f"number {number}") for number in range(12)]
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 12)
        assert metric(server, 'elmokit_queue_tokens{device="cpu"}') == 12 * 4
        gate.open()
        assert first.result().status_code == 200
        assert {other.result().status_code for other in others} == {200}
    assert [len(batch) for batch in gate.batches] == [1, 12]


def test_too_many_are_told_when_to_come_back(gated: tuple[Running, Gate]) -> None:
    server, gate = gated
    with ThreadPoolExecutor(60) as pool:
        first = hold_up(server, gate, pool)
        others = [pool.submit(ask, server, f"number {number}") for number in range(50)]
        until(lambda: sum(other.done() for other in others) == 10)
        gate.open()
        answers = [other.result() for other in others]
        assert first.result().status_code == 200
    codes = [answer.status_code for answer in answers]
    assert (codes.count(200), codes.count(429)) == (40, 10)
    for answer in answers:
        if answer.status_code == 429:
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["error"]["code"] == "queue_full"
    assert metric(server, 'elmokit_requests_refused_total{reason="queue_full"}') == 10
    assert ask(server, "again").status_code == 200


def test_waiting_tokens_are_bounded_too() -> None:
    service = small_service(queue_tokens=640, batch_tokens=1100)
    with running(service) as server, ThreadPoolExecutor(30) as pool:
        gate = Gate(service.default.elmo)
        hold_up(server, gate, pool)
        texts = ["w " * 38] * 24  # 40 tokens each, with the marks
        others = [pool.submit(ask, server, text) for text in texts]
        until(lambda: sum(other.done() for other in others) == 8)
        assert metric(server, 'elmokit_queue_tokens{device="cpu"}') == 640
        gate.open()
        assert sorted(other.result().status_code for other in others) == [200] * 16 + [429] * 8


def test_a_long_request_lets_others_through(gated: tuple[Running, Gate]) -> None:
    server, gate = gated
    with ThreadPoolExecutor(4) as pool:
        first = hold_up(server, gate, pool)
        long = pool.submit(
            CLIENT.post,
            f"{server.url}/v1/embeddings",
            json={"input": ["a b c d e f g h"] * 1000},
        )
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 1)
        short = pool.submit(ask, server, "short")
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 2)
        gate.open()
        assert short.result().status_code == first.result().status_code == 200
        assert len(long.result().json()["data"]) == 1000
    assert ["short"] in gate.batches[1], "it was in the very next batch"
    assert len(gate.batches) > 5


def open_request(server: Running, text: str) -> socket.socket:
    body = json.dumps({"input": text}).encode()
    head = (
        "POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    taken = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    taken.sendall(head.encode() + body)
    return taken


def test_work_of_clients_that_left_is_never_done(gated: tuple[Running, Gate]) -> None:
    server, gate = gated
    with ThreadPoolExecutor(4) as pool:
        first = hold_up(server, gate, pool)
        leaving = [open_request(server, f"leaving {number}") for number in range(30)]
        staying = pool.submit(ask, server, "staying")
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 31)
        for taken in leaving:
            taken.close()
        # Half a second is what is promised; a machine that is busy with other things gets more.
        seen = until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 1)
        assert seen < 5
        gate.open()
        assert first.result().status_code == staying.result().status_code == 200
    assert gate.sentences == [["the", "first"], ["staying"]]
    line = 'elmokit_requests_cancelled_total{stage="waiting"}'
    until(lambda: metric(server, line) == 30)


def test_the_rest_of_a_long_request_is_dropped_when_its_client_leaves(
    gated: tuple[Running, Gate],
) -> None:
    server, gate = gated
    gate.close()
    body = json.dumps({"input": ["a b c d e f g h"] * 1000}).encode()
    head = (
        "POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as taken:
        taken.sendall(head.encode() + body)
        assert gate.reached.wait(PATIENCE)
    until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 0)
    gate.open()
    assert ask(server, "next").status_code == 200
    assert len(gate.sentences) < 200


def test_pipelined_requests_of_a_client_that_left_are_dropped(
    gated: tuple[Running, Gate],
) -> None:
    server, gate = gated
    gate.close()
    with open_request(server, "one") as taken:
        assert gate.reached.wait(PATIENCE)
        body = b'{"input": "two"}'
        taken.sendall(
            b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        time.sleep(0.05)
    until(lambda: metric(server, 'elmokit_requests_cancelled_total{stage="computing"}') == 1)
    gate.open()
    assert ask(server, "three").status_code == 200
    assert gate.sentences == [["one"], ["three"]]


def test_a_fault_in_the_model_fails_its_request_alone(gated: tuple[Running, Gate]) -> None:
    server, gate = gated
    elmo = server.service.default.elmo
    working = elmo.embedder

    class Faulty:
        word_vectors = working.word_vectors

        def __call__(self, sentences: Any, start: Any) -> Any:
            if ["fault"] in [list(sentence) for sentence in sentences]:
                raise RuntimeError("a fault")
            return working(sentences, start)

    elmo.__dict__["embedder"] = Faulty()
    with ThreadPoolExecutor(10) as pool:
        first = hold_up(server, gate, pool)
        texts = ["fault", "a cat", "a dog", "fault", "a mat"]
        others = [pool.submit(ask, server, text) for text in texts]
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 5)
        gate.open()
        assert first.result().status_code == 200
        assert [other.result().status_code for other in others] == [500, 200, 200, 500, 200]
    elmo.__dict__["embedder"] = working


def test_the_end_answers_what_was_accepted_and_refuses_what_is_new() -> None:
    service = small_service(queue_tokens=10_000)
    server = Running(service)
    gate = Gate(service.default.elmo)
    with ThreadPoolExecutor(20) as pool, httpx.Client(base_url=server.url) as kept:
        assert kept.get("/readyz").status_code == 200
        first = hold_up(server, gate, pool)
        others = [pool.submit(ask, server, f"number {number}") for number in range(10)]
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 10)
        ending = threading.Thread(target=server.end)
        ending.start()
        until(lambda: service.draining)
        late = kept.post("/v1/embeddings", json={"input": "late"})
        assert late.status_code == 503
        assert late.json()["error"]["code"] == "shutting_down"
        assert late.headers["connection"] == "close"
        until(lambda: not _connects(server))
        assert not first.done()
        gate.open()
        answers = [first.result(), *(other.result() for other in others)]
        assert {answer.status_code for answer in answers} == {200}
        ending.join(PATIENCE)
        assert not ending.is_alive()
    assert ["late"] not in gate.sentences


def test_readiness_ends_before_life_does() -> None:
    service = small_service()
    with running(service) as server:
        service.draining = True
        assert CLIENT.get(f"{server.url}/readyz").status_code == 503
        assert CLIENT.get(f"{server.url}/livez").status_code == 200
        assert CLIENT.get(f"{server.url}/metrics").status_code == 200
        assert CLIENT.get(f"{server.url}/v1/models").status_code == 503


def _connects(server: Running) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
    except OSError:
        return False
    return True


def test_many_connections_are_answered_in_one_loop(gated: tuple[Running, Gate]) -> None:
    server, _ = gated

    async def asked() -> list[int]:
        limits = httpx.Limits(max_connections=30)
        async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=60) as client:
            calls = (
                client.post("/v1/embeddings", json={"input": f"text {number}"})
                for number in range(120)
            )
            return [answer.status_code for answer in await asyncio.gather(*calls)]

    assert set(asyncio.run(asked())) == {200}


def test_a_full_line_refuses_before_bodies_are_read_and_nothing_else(
    gated: tuple[Running, Gate],
) -> None:
    server, gate = gated
    with ThreadPoolExecutor(60) as pool:
        hold_up(server, gate, pool)
        for number in range(40):
            pool.submit(ask, server, f"number {number}")
        until(lambda: metric(server, 'elmokit_queue_requests{device="cpu"}') == 40)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as taken:
            taken.sendall(
                b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\n\r\n"
            )
            assert taken.recv(65536).startswith(b"HTTP/1.1 429 ")
        assert CLIENT.get(f"{server.url}/v1/models").status_code == 200
        gate.open()
