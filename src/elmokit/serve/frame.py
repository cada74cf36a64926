"""What surrounds every request: figures, a last resort for errors, and the end of the server."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elmokit.serve.answer import refusal
from elmokit.serve.problems import internal_problem, shutting_down
from elmokit.serve.service import Service

logger = logging.getLogger("elmokit.serve")

# They are answered to the last.
WATCHED = frozenset({"/livez", "/readyz", "/metrics"})


class Frame:
    """Measures requests, and answers 500 and nothing else where something fails."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # uvicorn leaves the body out
        metrics = self._service.metrics
        since = time.perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._service.draining:
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        metrics.in_flight.inc()
        try:
            if self._service.draining and scope["path"] not in WATCHED:
                problem = shutting_down()
                metrics.refused.labels(problem.reason).inc()
                await refusal(problem)(scope, receive, watched)
            else:
                await self._app(scope, receive, watched)
        except TimeoutError:
            logger.warning("a client did not take its answer and was left")
        except Exception:
            logger.exception("a request failed")
            if status == 0:
                await refusal(internal_problem())(scope, receive, watched)
        finally:
            metrics.in_flight.dec()
            route = getattr(scope.get("route"), "path", "other")
            metrics.seconds.labels(route, str(status)).observe(time.perf_counter() - since)
