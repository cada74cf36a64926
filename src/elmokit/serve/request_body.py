"""The JSON object in a request's body, whatever bytes it may have."""

import asyncio
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from elmokit.serve.problems import RequestError

# A body that comes more slowly than this would keep its connection for ever.
SECONDS_FOR_BODY = 30.0


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def json_object(request: Request) -> dict[str, Any]:
    """Read the body; raises a `RequestError` where it is no JSON object in UTF-8."""
    _check_content_type(request.headers.get("content-type", ""))
    try:
        async with asyncio.timeout(SECONDS_FOR_BODY):
            body = await request.body()
    except TimeoutError:
        raise RequestError(
            408,
            f"the body did not arrive within {SECONDS_FOR_BODY:.0f} s",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    try:
        found = orjson.loads(body)
    except ValueError:
        raise RequestError(
            400,
            "the body: expected JSON in UTF-8, without NaN, Infinity or lone surrogates",
            code="invalid_json",
        ) from None
    if not isinstance(found, dict):
        raise RequestError(422, "the body: expected a JSON object", code="not_an_object")
    return found


def _check_content_type(header: str) -> None:
    kind, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = [
        one.partition("=")[2].strip('"') for one in parameters if one.startswith("charset=")
    ]
    if kind != "application/json" or any(one not in ("utf-8", "utf8") for one in charsets):
        raise RequestError(
            415, "Content-Type: expected application/json in UTF-8", code="wrong_content_type"
        )
