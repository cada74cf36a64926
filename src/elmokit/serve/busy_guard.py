"""Requests are sent away at the door while the line is full: that is what there is most of then."""

from starlette.types import ASGIApp, Receive, Scope, Send

from elmokit.serve.answer import refusal
from elmokit.serve.service import Service


class BusyGuard:
    """Answers 429 before a body is read, where it would be refused for want of room anyway."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or send it away."""
        computes = scope["type"] == "http" and scope["method"] == "POST"
        problem = self._service.no_room() if computes else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        self._service.metrics.refused.labels(problem.reason).inc()
        await refusal(problem)(scope, receive, send)
