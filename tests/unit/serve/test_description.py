import re
from typing import Any

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute

from elmokit.serve.app import build_routes
from elmokit.serve.page_files import FOLDER, TYPES
from unit.serve.small_service import small_service

UNDESCRIBED = {"/", "/page/{name}", "/docs", "/metrics", "/v1/neighbours", "/v1/tasks/{name}"}


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return build_routes(small_service(), keyed=True).openapi()


def test_every_route_is_described(description: dict[str, Any]) -> None:
    app = build_routes(small_service(), keyed=True)
    paths = {route.path for route in app.routes if isinstance(route, APIRoute)}
    assert paths == set(description["paths"]) | UNDESCRIBED
    for path, operations in description["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            assert "401" in operation["responses"]


def test_schemas_are_schemas(description: dict[str, Any]) -> None:
    found = 0
    for operations in description["paths"].values():
        for operation in operations.values():
            contents = [one.get("content", {}) for one in operation["responses"].values()]
            contents.append(operation.get("requestBody", {}).get("content", {}))
            for content in contents:
                for kind in content.values():
                    jsonschema_rs.meta.validate(kind["schema"])
                    found += 1
    assert found > 40
    jsonschema_rs.meta.validate(description["components"]["schemas"]["Error"])


def test_the_page_asks_for_files_of_its_own_only() -> None:
    for file in FOLDER.iterdir():
        assert file.suffix in TYPES, f"{file.name} would not be served"
        if file.suffix in (".html", ".css", ".js"):
            for address in re.findall(r"https?://[^\s\"'`)]+", file.read_text(encoding="utf-8")):
                assert "w3.org" in address or "127.0.0.1" in address, f"{file.name}: {address}"
