"""Every route in every spelling, without a key or with a wrong one."""

from collections.abc import Iterator

from integration.serve_load.exchange import Answer, BrokenAnswerError, Reader
from integration.serve_load.server_process import ServerProcess

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE")
PUBLIC = ("/", "/livez", "/readyz", "/page/index.html", "/page/", "/page/nothing")
UNLISTED = ("/metrics", "/docs", "/openapi.json", "/redoc", "/nothing", "/v1", "/v1/", "/admin")
"""Guarded too, whether or not they are in the description."""


def spellings(path: str) -> list[str]:
    """Write a path in ways that careless servers take for the same or for a public one."""
    rest = path[1:]
    letter = f"%{ord(rest[0]):02x}" if rest else ""
    return [
        path,
        f"/{path}",
        f"//{path}",
        f"{path}/",
        f"{path}//",
        f"{path}/.",
        f"{path}?",
        f"{path}?key=x",
        f"{path}#x",
        f"{path};x",
        f"{path}%20",
        f"{path}%00",
        f"{path}%2f",
        f"{path}.html",
        f"/.{path}",
        f"/x/..{path}",
        f"/livez/..{path}",
        f"/livez{path}",
        f"/livez%2f..{path}",
        f"/livez%00{path}",
        f"/livez?{path}",
        f"/page/..{path}",
        f"/page/../..{path}",
        f"/page/%2e%2e{path}",
        f"/page%2f..{path}",
        f"/page/..%2f{rest}",
        f"/%70age/..{path}",
        f"\\{rest}",
        f"/\\{rest}",
        path.upper(),
        path.title(),
        path.replace("/", "%2f"),
        path.replace("/", "/%2e/"),
        path.replace("/", "//"),
        f"/{letter}{rest[1:]}",
        f"http://localhost{path}",
        f"http://localhost//{rest}",
        f"http://localhost/page/..{path}",
        f"{path}/livez",
        f"{path}/page/index.html",
        f"{path}%0d%0aX: /livez",
    ]


def is_public(target: str) -> bool:
    """Whether a target, as it is spelt, may be answered without a key."""
    plain = target.removeprefix("http://localhost").partition("?")[0].partition("#")[0]
    return plain in PUBLIC or plain.startswith(("/page/", "/%70age/", "/page%2f"))


def walked(server: ServerProcess, paths: list[str]) -> Iterator[tuple[str, str, Answer]]:
    """Ask for every spelling with every method and no key; gives what was asked and the answer."""
    for path in paths:
        for target in dict.fromkeys(spellings(path)):
            for method in METHODS:
                yield method, target, asked(server, method, target)


def asked(server: ServerProcess, method: str, target: str, headers: str = "") -> Answer:
    """Ask once; an answer without status says that the connection was closed."""
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
    with server.connect() as connection:
        connection.sendall(head.encode("latin-1"))
        try:
            return Reader(connection).answer(head_only=method == "HEAD")
        except (EOFError, ConnectionError, BrokenAnswerError):
            return Answer(0, {}, b"")
