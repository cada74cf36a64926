import asyncio
import base64
import io
import json
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import pytest

from elmokit.serve import answer as module
from elmokit.serve.answer import (
    NUMBERS_AT_ONCE,
    SEND_AT_ONCE,
    Answer,
    base64_of,
    npy_pieces,
    number_pieces,
)

SHAPES = [(0, 4), (3,), (2, 3), (3, 2, 4), (3, 0, 4), (2, 300, 100), (700, 100)]


def numbers(shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def sent(answer: Answer, method: str = "POST") -> list[MutableMapping[str, Any]]:
    messages: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise NotImplementedError

    asyncio.run(answer({"type": "http", "method": method}, receive, send))
    return messages


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_written_as_nested_lists_that_read_back_exactly(
    shape: tuple[int, ...],
) -> None:
    values = numbers(shape)
    pieces = list(number_pieces(values))
    found = np.array(json.loads(b"".join(pieces)), dtype=np.float32)
    np.testing.assert_array_equal(found.reshape(shape), values)
    assert json.loads(b"".join(pieces)) == json.loads(json.dumps(values.tolist())) or values.size
    if values.size > NUMBERS_AT_ONCE:
        assert max(map(len, pieces)) < 20 * NUMBERS_AT_ONCE


@pytest.mark.parametrize("shape", SHAPES)
def test_base64_holds_little_endian_float32(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    found = np.frombuffer(base64.b64decode(base64_of(values)), "<f4")
    np.testing.assert_array_equal(found.reshape(shape), values)


def test_a_part_of_an_array_is_written_as_such() -> None:
    part = numbers((3, 10, 4))[:, 2:5]
    decoded = np.frombuffer(base64.b64decode(base64_of(part)), "<f4").reshape(part.shape)
    np.testing.assert_array_equal(decoded, part)
    written = np.array(json.loads(b"".join(number_pieces(part))), dtype=np.float32)
    np.testing.assert_array_equal(written, part)


@pytest.mark.parametrize("shape", SHAPES)
def test_npy_is_what_numpy_loads(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    found = np.load(io.BytesIO(b"".join(npy_pieces(values))), allow_pickle=False)
    assert found.dtype == np.dtype("<f4")
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    "pieces",
    [[b""], [b"a", b"b"], [b"x" * (3 * SEND_AT_ONCE + 5)], [b"y" * 1000] * 1000, [b"", b"z", b""]],
)
def test_large_answers_go_out_in_portions(pieces: list[bytes]) -> None:
    start, *bodies = sent(Answer(pieces))
    whole = b"".join(pieces)
    assert dict(start["headers"])[b"content-length"] == str(len(whole)).encode()
    assert b"".join(body["body"] for body in bodies) == whole
    assert [body["more_body"] for body in bodies] == [True] * (len(bodies) - 1) + [False]
    assert max(len(body["body"]) for body in bodies) < 2 * SEND_AT_ONCE


def test_a_head_alone_has_no_body() -> None:
    start, body = sent(Answer([b"abc"]), "HEAD")
    assert dict(start["headers"])[b"content-length"] == b"3"
    assert body["body"] == b""


def test_a_client_that_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_PER_PIECE", 0.05)

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(60)

    async def receive() -> MutableMapping[str, Any]:
        raise NotImplementedError

    with pytest.raises(TimeoutError):
        asyncio.run(Answer([b"a"])({"type": "http", "method": "GET"}, receive, send))
