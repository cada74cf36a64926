"""The server as an ASGI application: routes, and what stands around them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from elmokit.serve.answer import Answer, json_answer
from elmokit.serve.body_limit import BodyLimit
from elmokit.serve.frame import Frame
from elmokit.serve.keys import KeyGuard
from elmokit.serve.metrics import CONTENT_TYPE
from elmokit.serve.page_files import FRONT, page_file
from elmokit.serve.problems import CLIENT_GONE, RequestError, status_problem
from elmokit.serve.request_body import ClientGoneError
from elmokit.serve.routes.embeddings import embeddings
from elmokit.serve.routes.neighbours import neighbours
from elmokit.serve.routes.score import score
from elmokit.serve.routes.substitutes import substitutes
from elmokit.serve.routes.tasks import task
from elmokit.serve.routes.tokens import tokens
from elmokit.serve.service import Service
from elmokit.version import __version__

PUBLIC = ("/", "/livez", "/readyz")
PUBLIC_PREFIX = "/page/"

Handler = Callable[[Request, Service], Awaitable[Answer]]


def build_app(service: Service, *, keys: Iterable[bytes] = ()) -> ASGIApp:
    """Give the application; with ``keys`` every route but a few public ones asks for one."""
    app = FastAPI(
        title="elmokit",
        version=__version__,
        description="Contextual word vectors from bidirectional language models.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    _add_posts(app, service)
    _add_gets(app, service)
    _add_page(app)
    app.add_exception_handler(RequestError, _problem)
    app.add_exception_handler(HTTPException, _status)
    app.add_exception_handler(ClientGoneError, _client_gone)
    keys = tuple(keys)
    framed: ASGIApp = BodyLimit(app, most=service.limits.body_bytes, metrics=service.metrics)
    if keys:
        framed = KeyGuard(
            framed,
            keys=keys,
            public=PUBLIC,
            public_prefix=PUBLIC_PREFIX,
            metrics=service.metrics,
        )
    return Frame(framed, service=service)


def _add_posts(app: FastAPI, service: Service) -> None:
    handlers: dict[str, Handler] = {
        "/v1/embeddings": embeddings,
        "/v1/tokens": tokens,
        "/v1/score": score,
        "/v1/substitutes": substitutes,
    }
    handlers["/v1/neighbours"] = neighbours
    handlers["/v1/tasks/{name}"] = task
    for path, handler in handlers.items():
        _add_post(app, service, path, handler)


def _add_post(app: FastAPI, service: Service, path: str, handler: Handler) -> None:
    async def endpoint(request: Request) -> Response:
        return await handler(request, service)

    app.add_api_route(path, endpoint, methods=["POST"], response_model=None, name=path)


def _add_gets(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models")
    async def models() -> Response:
        data = [model.facts() for model in service.models.values()]
        return json_answer({"object": "list", "data": data})

    @app.get("/v1/models/{name:path}")
    async def model(name: str) -> Response:
        return json_answer(service.model({"model": name}).facts())

    @app.get("/v1/capabilities")
    async def capabilities() -> Response:
        return json_answer(service.capabilities())

    @app.get("/livez")
    async def livez() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/readyz")
    async def readyz() -> Response:
        if service.draining:
            return json_answer({"status": "shutting down"}, status=503)
        return json_answer({"status": "ok"})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Answer([service.metrics.text()], media_type=CONTENT_TYPE)


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def front(request: Request) -> Response:
        return page_file(request, FRONT)

    @app.get("/page/{name}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        return page_file(request, name)


async def _problem(request: Request, error: Any) -> Response:
    return error.answer()  # type: ignore[no-any-return]


async def _status(request: Request, error: Any) -> Response:
    return status_problem(error.status_code, error.headers).answer()


async def _client_gone(request: Request, error: Exception) -> Response:
    return Answer([b""], status=CLIENT_GONE)
