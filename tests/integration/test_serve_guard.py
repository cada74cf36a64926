"""What a server refuses: strangers, and requests that are too large, broken or wrong."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from elmokit.serve import connection, request_body
from elmokit.serve.app import build_routes
from unit.serve.small_service import Running, running, small_service

KEYS = [b"first-key", b"second-key"]
PUBLIC = {"/", "/livez", "/readyz", "/page/{name}"}
SECRET = "a-secret-word"
BODY_BYTES = 20_000


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with running(small_service(), keys=KEYS) as server:
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    service = small_service(
        body_bytes=BODY_BYTES,
        inputs=50,
        sentence_tokens=20,
        request_tokens=400,
        answer_bytes=50_000,
        batch_tokens=100,
    )
    with running(service) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield client


def raw(server: Running, *sends: bytes) -> bytes:
    """Send bytes and read what comes until the server closes or nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as taken:
        for part in sends:
            taken.sendall(part)
            time.sleep(0.01)
        taken.settimeout(1.0)
        found = b""
        try:
            while part := taken.recv(65536):
                found += part
                if b"\r\n\r\n" in found and _is_complete(found):
                    break
        except (TimeoutError, ConnectionResetError):
            pass
        return found


def _is_complete(found: bytes) -> bool:
    head, _, body = found.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return False


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    if not any(line.lower().startswith("content-type") for line in headers):
        lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    return int(answer.split()[1])


def test_every_route_but_the_public_ones_asks_for_a_key(guarded: Running) -> None:
    routes = build_routes(guarded.service, keyed=True).routes
    paths = {route.path for route in routes if hasattr(route, "path")}
    assert len(paths) > 12
    assert {"/openapi.json", "/metrics", "/docs"} <= paths
    with httpx.Client(base_url=guarded.url) as client:
        for path in sorted(paths):
            for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"):
                answer = client.request(method, path.replace("{name}", "server.js"))
                if path in PUBLIC:
                    assert answer.status_code != 401, (method, path)
                else:
                    assert answer.status_code == 401, (method, path)
                    assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/nothing", "/v1", "/v1/", "/livez/", "/v1/models/small", "/%00"):
            assert client.get(path).status_code == 401, path


def test_keys_open_every_route(guarded: Running) -> None:
    routes = build_routes(guarded.service, keyed=True).routes
    gets = [
        route.path
        for route in routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    ]
    for key in KEYS:
        headers = {"Authorization": f"Bearer {key.decode()}"}
        with httpx.Client(base_url=guarded.url, headers=headers) as client:
            for path in gets:
                name = "small" if "models" in path else "server.js"
                assert client.get(path.replace("{name}", name)).status_code == 200, path
            assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200
            assert client.get("/nothing").status_code == 404


def test_a_refused_request_reads_no_body(guarded: Running) -> None:
    answer = raw(
        guarded, b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    )
    assert status(answer) == 401


VALUES: list[tuple[str, Any, int]] = [
    ("/v1/embeddings", {}, 422),
    ("/v1/embeddings", [], 422),
    ("/v1/embeddings", SECRET, 422),
    ("/v1/embeddings", {"input": None}, 422),
    ("/v1/embeddings", {"input": [1, 2]}, 422),
    ("/v1/embeddings", {"input": [[SECRET]]}, 422),
    ("/v1/embeddings", {"input": []}, 422),
    ("/v1/embeddings", {"input": "a", SECRET: 1}, 422),
    ("/v1/embeddings", {"input": "a", "model": SECRET}, 404),
    ("/v1/embeddings", {"input": "a", "model": [SECRET]}, 404),
    ("/v1/embeddings", {"input": "a", "encoding_format": SECRET}, 422),
    ("/v1/embeddings", {"input": "a", "dimensions": 3}, 422),
    ("/v1/embeddings", {"input": "a", "dimensions": [SECRET]}, 422),
    ("/v1/embeddings", {"input": "a", "user": {SECRET: 1}}, 422),
    ("/v1/embeddings", {"input": [SECRET] * 51}, 422),
    ("/v1/embeddings", {"input": f"{SECRET} " * 21}, 422),
    ("/v1/embeddings", {"input": ["a b c d e f g h i j"] * 41}, 422),
    ("/v1/embeddings", {"input": SECRET * 200}, 422),
    ("/v1/tokens", {"input": "a", "layers": SECRET}, 422),
    ("/v1/tokens", {"input": "a", "layers": 3}, 422),
    ("/v1/tokens", {"input": "a", "layers": True}, 422),
    ("/v1/tokens", {"input": "a", "layers": [1, 2]}, 422),
    ("/v1/tokens", {"input": "a", "layers": [1, 2, 1e300]}, 422),
    ("/v1/tokens", {"input": "a", "layers": [1, 2, SECRET]}, 422),
    ("/v1/tokens", {"input": "a", "layers": {SECRET: 1}}, 422),
    ("/v1/tokens", {"input": [["a", ""]]}, 422),
    ("/v1/tokens", {"input": [["a", 1]]}, 422),
    ("/v1/tokens", {"input": ["a b c d e f g h"] * 40, "layers": "all"}, 422),
    ("/v1/score", {"input": "a", "direction": SECRET}, 422),
    ("/v1/score", {"input": {"a": SECRET}}, 422),
    ("/v1/substitutes", {"input": SECRET}, 422),
    ("/v1/substitutes", {"input": f"___ ___ {SECRET}"}, 422),
    ("/v1/substitutes", {"input": f"in{SECRET}___s"}, 422),
    ("/v1/substitutes", {"input": []}, 422),
    ("/v1/substitutes", {"input": SECRET, "position": 9}, 422),
    ("/v1/substitutes", {"input": "", "position": 0}, 422),
    ("/v1/substitutes", {"input": SECRET, "position": SECRET}, 422),
    ("/v1/substitutes", {"input": "___", "count": 0}, 422),
    ("/v1/substitutes", {"input": "___", "count": 1e9}, 422),
    ("/v1/substitutes", {"input": "___", "candidates": []}, 422),
    ("/v1/substitutes", {"input": "___", "candidates": [" "]}, 422),
    ("/v1/substitutes", {"input": "___", "candidates": SECRET}, 422),
    ("/v1/substitutes", {"input": "___", "candidates": [SECRET * 100]}, 422),
    ("/v1/substitutes", {"input": "___", "rescore": SECRET}, 422),
    ("/v1/substitutes", {"input": "a b c d e ___"}, 422),
    ("/v1/neighbours", {"input": "a *word*"}, 404),
    ("/v1/tasks/ner", {"input": "a"}, 404),
    ("/v1/nothing", {"input": "a"}, 404),
]


@pytest.mark.parametrize(("path", "values", "expected"), VALUES)
def test_wrong_values_are_refused_without_repeating_them(
    client: httpx.Client, path: str, values: Any, expected: int
) -> None:
    answer = client.post(path, json=values)
    assert answer.status_code == expected, answer.text
    problem = answer.json()["error"]
    assert set(problem) == {"message", "type", "param", "code"}
    assert problem["message"]
    assert SECRET not in answer.text
    assert "/elmokit" not in answer.text


BODIES = [
    (b"", 400),
    (b"{", 400),
    (b"nonsense", 400),
    (b'{"input": "a"', 400),
    (b'{"input": "\\ud800"}', 400),
    (b'{"input": "\xff"}', 400),
    ('{"input": "a"}'.encode("utf-16"), 400),
    (b'\xef\xbb\xbf{"input": "a"}', 400),
    (b'{"input": NaN}', 400),
    (b'{"input": Infinity}', 400),
    (b'{"input": 1e999}', 400),
    (b"[" * 5000 + b"]" * 5000, 400),
    (b'{"input": ' * 1500 + b"1" + b"}" * 1500, 400),
    (b'{"input": ' + b"[" * 900 + b"]" * 900 + b"}", 422),
    (b"null", 422),
    (b"1", 422),
    (b'{"input": "a", "input": "b"}', 200),
    (b'{"input": "\\u0000 \\ud83d\\ude00"}', 200),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/tokens", "/v1/score"])
def test_broken_bodies_are_refused(
    client: httpx.Client, path: str, body: bytes, expected: int
) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == expected, answer.text
    assert client.get("/livez").status_code == 200


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("text/plain", 415),
        ("", 415),
        ("application/json; charset=latin-1", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json; charset=UTF-8", 200),
        ("Application/JSON", 200),
    ],
)
def test_only_json_is_read(client: httpx.Client, kind: str, expected: int) -> None:
    answer = client.post(
        "/v1/embeddings", content=b'{"input": "a"}', headers={"Content-Type": kind}
    )
    assert answer.status_code == expected


def test_a_large_body_is_refused_by_its_length(server: Running) -> None:
    head = post("/v1/embeddings", b"", f"Content-Length: {BODY_BYTES + 1}")
    head = head.replace(b"Content-Length: 0\r\n", b"")
    assert status(raw(server, head)) == 413


def test_a_client_that_sends_on_still_sees_the_answer(client: httpx.Client) -> None:
    for size in (BODY_BYTES, 10 * BODY_BYTES):
        body = json.dumps({"input": "a" * size}).encode()
        answer = client.post(
            "/v1/embeddings", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert str(BODY_BYTES) in answer.json()["error"]["message"]
    assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200


def test_a_body_without_a_length_is_counted(server: Running) -> None:
    head = (
        b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"1000\r\n" + b"a" * 0x1000 + b"\r\n"
    assert status(raw(server, head, *[chunk] * 8, b"0\r\n\r\n")) == 413
    small = b'{"input": "a"}'
    whole = b"%x\r\n%s\r\n0\r\n\r\n" % (len(small), small)
    assert status(raw(server, head, whole)) == 200


@pytest.mark.parametrize(
    ("sends", "expected"),
    [
        ([b"GARBAGE\r\n\r\n"], 400),
        ([b"GET /livez HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n"], 400),
        ([b"GET /livez HTTP/9.9\r\n\r\n"], 400),
        ([b"GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n"], 404),
        ([b"GET /livez?%00 HTTP/1.1\r\nHost: x\r\n\r\n"], 200),
        ([b"GET /", b"livez HTTP/1.1\r\n", b"Host: x\r\n\r\n"], 200),
        ([b"DELETE /v1/embeddings HTTP/1.1\r\nHost: x\r\n\r\n"], 405),
        ([b"GET /v1/embeddings HTTP/1.1\r\nHost: x\r\n\r\n"], 405),
        ([post("/livez", b"{}")], 405),
        ([b"HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"], 200),
        ([b"HEAD /v1/score HTTP/1.1\r\nHost: x\r\n\r\n"], 405),
        (
            [b"GET /livez HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"],
            200,
        ),
        ([b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 30_000 + b"\r\n\r\n"], 200),
        ([b"GET /livez HTTP/1.1\r\nHost: x\r\nX: ", *[b"y" * 30_000] * 4], 431),
        ([post("/v1/embeddings", b'{"input": "a"}', "Content-Length: 3")], 400),
    ],
)
def test_strange_requests_have_plain_answers(
    server: Running, client: httpx.Client, sends: list[bytes], expected: int
) -> None:
    assert status(raw(server, *sends)) == expected
    assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200


def test_slow_clients_are_left(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS_FOR_HEAD", 0.2)
    monkeypatch.setattr(request_body, "SECONDS_FOR_BODY", 0.2)
    assert raw(server, b"GET /livez HT") == b""
    assert raw(server) == b""
    body = post("/v1/embeddings", b'{"input": "a"}')[:-5]
    answer = raw(server, body)
    assert status(answer) == 408
    assert b"connection: close" in answer.lower()


def test_failures_of_ours_say_nothing(
    server: Running, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(values: object) -> None:
        raise RuntimeError(f"{SECRET} in /some/path.py")

    monkeypatch.setattr(server.service, "model", fail)
    answer = client.post("/v1/embeddings", json={"input": "a"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert SECRET not in answer.text
    assert "path" not in answer.text
    monkeypatch.undo()
    assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200


def test_refusals_are_counted(client: httpx.Client) -> None:
    client.post("/v1/embeddings", json={"input": "a", "model": "x"})
    text = client.get("/metrics").text
    assert 'elmokit_requests_refused_total{reason="model_not_found"}' in text
    assert 'elmokit_requests_refused_total{reason="body_too_large"}' in text
