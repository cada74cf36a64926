"""The server as an ASGI application: routes, and what stands around them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from elmokit.serve import schemas
from elmokit.serve.answer import Answer, json_answer, refusal
from elmokit.serve.body_limit import BodyLimit
from elmokit.serve.busy_guard import BusyGuard
from elmokit.serve.description import (
    PROBLEMS,
    asked,
    given,
    openapi,
    page_of,
    path_parameter,
    problem,
)
from elmokit.serve.frame import Frame
from elmokit.serve.keys import KeyGuard
from elmokit.serve.metrics import CONTENT_TYPE
from elmokit.serve.page_files import FRONT, page_file
from elmokit.serve.problems import CLIENT_GONE, RequestError, internal_problem, status_problem
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

Handler = Callable[[Request, Service], Awaitable[Response]]


def build_app(service: Service, *, keys: Iterable[bytes] = ()) -> ASGIApp:
    """Give the application; with ``keys`` every route but a few public ones asks for one."""
    keys = tuple(keys)
    framed: ASGIApp = BodyLimit(
        build_routes(service, keyed=bool(keys)),
        most=service.limits.body_bytes,
        metrics=service.metrics,
    )
    framed = BusyGuard(framed, service=service)
    if keys:
        framed = KeyGuard(
            framed,
            keys=keys,
            public=PUBLIC,
            public_prefix=PUBLIC_PREFIX,
            metrics=service.metrics,
        )
    return Frame(framed, service=service)


def build_routes(service: Service, *, keyed: bool) -> FastAPI:
    """Give the routes alone."""
    app = FastAPI(
        title="elmokit",
        version=__version__,
        description="Contextual word vectors from bidirectional language models.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.openapi = lambda: openapi(app, keyed=keyed)  # type: ignore[method-assign]
    _add_posts(app, service)
    _add_models(app, service)
    _add_health(app, service)
    _add_pages(app)

    async def refused(request: Request, error: Any) -> Response:
        service.metrics.refused.labels(error.reason).inc()
        return refusal(error)

    app.add_exception_handler(RequestError, refused)
    app.add_exception_handler(Exception, _failed)
    app.add_exception_handler(HTTPException, _status)
    app.add_exception_handler(ClientGoneError, _client_gone)
    return app


def _add_posts(app: FastAPI, service: Service) -> None:
    bodies = schemas.RequestSchemas(service)
    problems: dict[int | str, Any] = {status: problem(text) for status, text in PROBLEMS.items()}

    def add(path: str, handler: Handler, body: Any, answer: Any, **more: Any) -> None:
        async def endpoint(request: Request) -> Response:
            return await handler(request, service)

        extra = {**asked(body), **more.pop("extra", {})}
        app.add_api_route(
            path,
            endpoint,
            methods=["POST"],
            description=handler.__doc__,
            operation_id=handler.__name__,
            summary=handler.__name__,
            responses={**problems, **answer},
            openapi_extra=extra,
            **more,
        )

    add("/v1/embeddings", embeddings, bodies.embeddings, given(schemas.EMBEDDINGS))
    add("/v1/tokens", tokens, bodies.tokens, given(schemas.TOKENS, bytes_too=True))
    add("/v1/score", score, bodies.score, given(schemas.SCORES))
    add("/v1/substitutes", substitutes, bodies.substitutes, given(schemas.SUBSTITUTES))
    add(
        "/v1/neighbours",
        neighbours,
        bodies.neighbours,
        given(schemas.NEIGHBOURS),
        include_in_schema=service.searching is not None,
    )
    add(
        "/v1/tasks/{name}",
        task,
        bodies.task,
        given(schemas.ANSWERS),
        extra=path_parameter("name", list(service.tasks)),
        include_in_schema=bool(service.tasks),
    )


def _add_models(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models", responses=given(schemas.MODELS))
    async def models() -> Response:
        """Which models are loaded."""
        data = [model.facts() for model in service.models.values()]
        return json_answer({"object": "list", "data": data})

    @app.get(
        "/v1/models/{name}",
        responses=given(schemas.MODEL, s404=PROBLEMS[404]),
        openapi_extra=path_parameter("name", list(service.models)),
    )
    async def model(request: Request) -> Response:
        """One of the models."""
        return json_answer(service.model({"model": request.path_params["name"]}).facts())

    @app.get("/v1/capabilities", responses=given(schemas.CAPABILITIES))
    async def capabilities() -> Response:
        """What this server can do, and how much it takes on."""
        return json_answer(service.capabilities())


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/livez", responses=given(schemas.STATUS))
    async def livez() -> Response:
        """Whether the process runs."""
        return json_answer({"status": "ok"})

    @app.get("/readyz", responses={**given(schemas.STATUS), 503: {"description": PROBLEMS[503]}})
    async def readyz() -> Response:
        """Whether requests are taken."""
        if service.draining:
            return json_answer({"status": "shutting down"}, status=503)
        return json_answer({"status": "ok"})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Answer([service.metrics.text()], media_type=CONTENT_TYPE)


def _add_pages(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return page_of(app.openapi())

    @app.get("/", include_in_schema=False)
    async def front(request: Request) -> Response:
        return page_file(request, FRONT)

    @app.get("/page/{name}", include_in_schema=False)
    async def file(request: Request) -> Response:
        return page_file(request, request.path_params["name"])


async def _status(request: Request, error: Any) -> Response:
    return refusal(status_problem(error.status_code, error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return refusal(internal_problem())  # the log says more


async def _client_gone(request: Request, error: Exception) -> Response:
    return Answer([b""], status=CLIENT_GONE)
