"""The OpenAPI description of a server, and a page that shows it without any script."""

from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from elmokit.serve.answer import BYTES, JSON, Answer
from elmokit.serve.page_files import HEADERS
from elmokit.serve.schemas import ERROR, Schema

PROBLEMS = {
    400: "The body is no JSON in UTF-8.",
    404: "There is no such model, index or task here.",
    408: "The body took too long to arrive.",
    413: "The body is too large.",
    415: "The body is not announced as application/json.",
    422: "A field is wrong; the message names it.",
    429: "The server is busy; Retry-After says when to come back.",
    503: "The server is shutting down.",
}
STYLE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def asked(schema: Schema) -> dict[str, Any]:
    """Describe the body of a request."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def given(schema: Schema, *, bytes_too: bool = False, **others: str) -> dict[int | str, Any]:
    """Describe the answers of a route; ``others`` are further statuses, as s404."""
    content: dict[str, Any] = {JSON: {"schema": schema}}
    if bytes_too:
        content[BYTES] = {"schema": {"type": "string", "format": "binary"}}
    found: dict[int | str, Any] = {200: {"description": "The answer.", "content": content}}
    for status, text in others.items():
        found[int(status.removeprefix("s"))] = problem(text)
    return found


def problem(text: str) -> dict[str, Any]:
    """Describe an error."""
    reference = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {JSON: {"schema": reference}}}


def path_parameter(name: str, values: list[str]) -> dict[str, Any]:
    """Describe a part of a path."""
    schema = {"type": "string", "enum": values}
    return {"parameters": [{"name": name, "in": "path", "required": True, "schema": schema}]}


def openapi(app: FastAPI, *, keyed: bool) -> dict[str, Any]:
    """Give the description, with what all routes have in common."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = found.setdefault("components", {})
        components["schemas"] = {"Error": ERROR}
        if keyed:
            components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            found["security"] = [{"key": []}]
            for path in found["paths"].values():
                for operation in path.values():
                    operation["responses"]["401"] = problem("No key, or an unknown one.")
        app.openapi_schema = found
    return app.openapi_schema


def page_of(description: Mapping[str, Any]) -> Answer:
    """Show a description to people."""
    parts = []
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            parts.append(f"<h2>{method.upper()} {escape(path)}</h2>")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p>")
            body = operation.get("requestBody")
            if body is not None:
                fields = body["content"][JSON]["schema"]["properties"]
                required = body["content"][JSON]["schema"]["required"]
                named = (name if name in required else f"{name} (optional)" for name in fields)
                parts.append(f"<p>Fields: {escape(', '.join(named))}.</p>")
            statuses = (f"{status}: {one['description']}" for status, one in _answers(operation))
            parts.append("<ul>" + "".join(f"<li>{escape(one)}</li>" for one in statuses) + "</ul>")
    title = escape(f"{description['info']['title']} {description['info']['version']}")
    html = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{escape(description['info']['description'])} "
        f'<a href="openapi.json">openapi.json</a> has every detail.</p>{"".join(parts)}</html>'
    )
    headers = {**HEADERS, "Content-Security-Policy": STYLE}
    return Answer([html.encode()], media_type="text/html; charset=utf-8", headers=headers)


def _answers(operation: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(operation["responses"].items())
