"""Keys that clients must show: read from a file, compared in constant time."""

import hmac
from collections.abc import Iterable
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from elmokit.errors import InputError
from elmokit.serve.answer import refusal
from elmokit.serve.metrics import Metrics
from elmokit.serve.problems import RequestError

SCHEME = "bearer"


def read_keys(file: Path) -> list[bytes]:
    """Read keys, one a line; empty lines and those that begin with # are left out."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"api_key_file: there is no file {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise InputError(f"api_key_file: {file} cannot be read ({reason})") from error
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not keys:
        raise InputError(f"api_key_file: expected a key on a line of {file}, found none")
    for number, key in enumerate(keys, start=1):
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError(
                f"api_key_file: key {number} of {file} has characters that cannot be sent in a "
                "header; use letters, digits and punctuation"
            )
    return [key.encode("ascii") for key in keys]


class KeyGuard:
    """Answers 401 to requests without a key, whatever their route, but for a few public ones."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: Iterable[bytes],
        public: Iterable[str],
        public_prefix: str,
        metrics: Metrics,
    ) -> None:
        self._app = app
        self._keys = tuple(keys)
        self._public = frozenset(public)
        self._public_prefix = public_prefix
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it."""
        if scope["type"] == "lifespan" or self._is_public(scope["path"]) or self._has_key(scope):
            await self._app(scope, receive, send)
            return
        problem = RequestError(
            401,
            "Authorization: expected 'Bearer' and a key that this server knows",
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )
        self._metrics.refused.labels(problem.reason).inc()
        await refusal(problem)(scope, receive, send)

    def _is_public(self, path: str) -> bool:
        return path in self._public or path.startswith(self._public_prefix)

    def _has_key(self, scope: Scope) -> bool:
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(shown) != 1:
            return False
        scheme, _, key = shown[0].partition(b" ")
        if scheme.lower() != SCHEME.encode():
            return False
        key = key.strip()
        # Every key is compared, so that the time says nothing of which one was near.
        found = [hmac.compare_digest(key, known) for known in self._keys]
        return any(found)
