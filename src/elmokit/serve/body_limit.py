"""Bodies that are too large are refused by their announced length, or as soon as they exceed it."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elmokit.serve.answer import refusal
from elmokit.serve.metrics import Metrics
from elmokit.serve.problems import RequestError

# What is not much too large is read to its end and thrown away: a client that is still sending
# when the connection closes would never see the answer.
READ_TO_THE_END = 16


class BodyLimit:
    """Answers 413 to bodies of more than ``most`` bytes."""

    def __init__(self, app: ASGIApp, *, most: int, metrics: Metrics) -> None:
        self._app = app
        self._most = most
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request whose body is within bounds."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = _announced_length(scope)
        if length is not None and length > self._most:
            close = length > READ_TO_THE_END * self._most
            problem = self._problem(close=close)
            self._metrics.refused.labels(problem.reason).inc()
            await refusal(problem)(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read <= self._most:
                return message
            while message.get("more_body", False) and read <= READ_TO_THE_END * self._most:
                message = await receive()
                read += len(message.get("body", b""))
            raise self._problem(close=message.get("more_body", False))

        await self._app(scope, counted, send)

    def _problem(self, *, close: bool) -> RequestError:
        return RequestError(
            413,
            f"the body: expected at most {self._most} bytes",
            code="body_too_large",
            headers={"Connection": "close"} if close else {},
        )


def _announced_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
