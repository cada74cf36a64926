"""A server with a key tells strangers nothing, however they ask."""

import json
from collections.abc import Iterator

import pytest

from integration.serve_load.key_walk import UNLISTED, asked, is_public, walked
from integration.serve_load.server_process import ServerProcess, running_server

KEY = "sk-8Yw3-correct_horse.battery"
NAME = "tiny-untrained"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("guarded")
    with running_server(folder, ["--model", NAME], key=KEY) as server:
        yield server


@pytest.fixture(scope="module")
def routes(guarded: ServerProcess) -> list[str]:
    described = json.loads(guarded.ask("GET", "/openapi.json").body)["paths"]
    return [path.replace("{name}", NAME) for path in described]


def test_the_key_opens_what_is_walked(guarded: ServerProcess, routes: list[str]) -> None:
    """So that a server which refuses everything does not pass."""
    assert len(routes) >= 9
    answers = {path: guarded.ask("GET", path).status for path in routes}
    assert set(answers.values()) == {200, 405}
    assert guarded.ask("GET", "/metrics").status == 200
    assert guarded.ask("GET", "/nothing").status == 404


def test_every_route_asks_for_the_key(guarded: ServerProcess, routes: list[str]) -> None:
    paths = [path for path in [*routes, *UNLISTED] if not is_public(path)]
    wrong: list[tuple[str, str, int]] = []
    count = 0
    for method, target, answer in walked(guarded, paths):
        count += 1
        # A public folder may say that it has no such file; what is no HTTP is refused as such.
        allowed = {200, 404, 405} if is_public(target) else {401}
        if answer.status not in allowed | {0, 400} or NAME.encode() in answer.body:
            wrong.append((method, target, answer.status))
        elif answer.status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
    assert wrong == []
    assert count > 1000


def test_public_folder_gives_its_own_files_alone(guarded: ServerProcess) -> None:
    assert asked(guarded, "GET", "/page/index.html").status == 200
    for target in ("/page/../v1/models", "/page/..%2f..%2fkeys.py", "/page/%2e%2e/app.py"):
        assert asked(guarded, "GET", target).status in (400, 401, 404), target


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Authorization:\r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        f"Authorization: {KEY}\r\n",
        f"Authorization: Basic {KEY}\r\n",
        f"Authorization: Bearer{KEY}\r\n",
        f"Authorization: Bearer {KEY[:-1]}\r\n",
        f"Authorization: Bearer {KEY}x\r\n",
        f"Authorization: Bearer {KEY.upper()}\r\n",
        f"Authorization: Bearer {KEY} {KEY}\r\n",
        f"Authorization: Bearer {KEY},\r\n",
        f'Authorization: Bearer "{KEY}"\r\n',
        f"Authorization: Bearer {KEY}\r\nAuthorization: Bearer x\r\n",
        f"Authorization: Bearer x\r\nAuthorization: Bearer {KEY}\r\n",
        f"Proxy-Authorization: Bearer {KEY}\r\n",
        f"X-Api-Key: {KEY}\r\n",
        f"Cookie: Authorization=Bearer {KEY}\r\n",
        "Authorization: Bearer \xff\xfe\r\n",
        f"Authorization: Bearer {'x' * 30_000}\r\n",
    ],
)
def test_only_the_key_itself_is_one(guarded: ServerProcess, header: str) -> None:
    for target in ("/v1/models", f"/v1/models?api_key={KEY}", "/metrics"):
        assert asked(guarded, "GET", target, header).status == 401


def test_scheme_is_read_in_any_case(guarded: ServerProcess) -> None:
    """As the standard asks."""
    for scheme in ("Bearer", "bearer", "BEARER"):
        header = f"Authorization: {scheme} {KEY}\r\n"
        assert asked(guarded, "GET", "/v1/models", header).status == 200
