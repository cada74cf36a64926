import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.serve.keys import KeyGuard, read_keys
from elmokit.serve.metrics import Metrics


def test_keys_stand_one_a_line(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\nfirst-key\n\n  second.key  \n", encoding="utf-8")
    assert read_keys(file) == [b"first-key", b"second.key"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "expected a key on a line"),
        (b"# none\n\n", "expected a key on a line"),
        (b"\xff\xfe", "no UTF-8 text"),
        ("schlüssel\n".encode(), "key 1 .* cannot be sent"),
        (b"good\ntwo words\n", "key 2 .* cannot be sent"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_keys(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*missing"):
        read_keys(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(tmp_path)


def status_of(path: str, *authorizations: bytes) -> int:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    found: list[int] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    async def receive() -> MutableMapping[str, Any]:
        raise NotImplementedError

    guard = KeyGuard(
        app,
        keys=[b"one", b"two"],
        public=["/", "/livez"],
        public_prefix="/page/",
        metrics=Metrics(),
    )
    headers = [(b"authorization", value) for value in authorizations]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    asyncio.run(guard(scope, receive, send))
    return found[0]


@pytest.mark.parametrize("key", [b"Bearer one", b"bearer two", b"BEARER  one "])
def test_a_known_key_opens_everything(key: bytes) -> None:
    assert status_of("/v1/models", key) == 200


@pytest.mark.parametrize(
    "shown",
    [
        [],
        [b""],
        [b"Bearer"],
        [b"Bearer "],
        [b"Bearer three"],
        [b"Bearer on"],
        [b"Bearer one two"],
        [b"Basic one"],
        [b"one"],
        [b"Bearer \xff"],
        [b"Bearer one", b"Bearer three"],
    ],
)
def test_nothing_else_does(shown: list[bytes]) -> None:
    assert status_of("/v1/models", *shown) == 401
    assert status_of("/livez", *shown) == 200


@pytest.mark.parametrize(
    "path", ["/metrics", "/docs", "/livez/", "//livez", "/LIVEZ", "/pages", "/page", "/x/../livez"]
)
def test_paths_near_public_ones_are_not_public(path: str) -> None:
    assert status_of(path) == 401
