"""What is sent back: bytes made ahead, in pieces, so that a slow reader holds little memory.

orjson and base64 do their work in C without letting other threads run, so large answers are
encoded piece by piece, outside of the event loop.
"""

import asyncio
import binascii
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from elmokit.serve.problems import RequestError

JSON, BYTES = "application/json", "application/octet-stream"
SEND_AT_ONCE = 256 * 1024
# Who takes no quarter of a megabyte in this time is as good as gone.
SECONDS_PER_PIECE = 60.0
# About a millisecond of orjson.
NUMBERS_AT_ONCE = 32 * 1024


class Answer(Response):
    """Pieces of bytes with the length of them all."""

    def __init__(
        self,
        pieces: Sequence[bytes],
        *,
        status: int = 200,
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.pieces = pieces
        length = sum(map(len, pieces))
        super().__init__(
            status_code=status,
            media_type=media_type,
            headers={"Content-Length": str(length), **(headers or {})},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces; stop where the client does not take them."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        pieces = [b""] if scope["method"] == "HEAD" else list(_portions(self.pieces))
        for number, piece in enumerate(pieces, start=1):
            more = number < len(pieces)
            async with asyncio.timeout(SECONDS_PER_PIECE):
                await send({"type": "http.response.body", "body": piece, "more_body": more})


def json_answer(
    facts: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Answer with a small JSON value."""
    return Answer([orjson.dumps(facts)], status=status, headers=headers)


def refusal(problem: RequestError) -> Answer:
    """Say what is wrong with a request."""
    return json_answer(problem.facts(), status=problem.status, headers=problem.headers)


def number_pieces(values: npt.NDArray[np.float32]) -> Iterator[bytes]:
    """Write an array as nested JSON lists, with the shortest digits that float32 needs."""
    if values.size <= NUMBERS_AT_ONCE or values.ndim < 2:
        yield orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
        return
    yield b"["
    for number, part in enumerate(values):
        if number:
            yield b","
        yield from number_pieces(part)
    yield b"]"


def base64_of(values: npt.NDArray[np.float32]) -> bytes:
    """Write little-endian float32 numbers as base64."""
    plain = np.ascontiguousarray(values, dtype="<f4")
    return binascii.b2a_base64(plain.data.cast("B") if plain.size else b"", newline=False)


def npy_pieces(values: npt.NDArray[np.float32]) -> list[bytes]:
    """Write an array as a .npy file."""
    plain = np.ascontiguousarray(values, dtype="<f4")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(plain))
    return [header.getvalue(), plain.tobytes()]


def _portions(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Join small pieces and cut large ones."""
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        for first in range(0, len(piece), SEND_AT_ONCE):
            part = piece[first : first + SEND_AT_ONCE]
            gathered.append(part)
            size += len(part)
            if size >= SEND_AT_ONCE:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered or not pieces or not any(pieces):
        yield b"".join(gathered)
