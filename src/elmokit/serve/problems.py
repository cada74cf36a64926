"""What a client is told when a request cannot be answered, in the shape of OpenAI's errors.

Messages say what was expected. They never repeat what was sent, nor name a path of the server.
"""

import math
from http import HTTPStatus
from typing import Any

from elmokit.errors import InputError

_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
CLIENT_GONE = 499
"""Nobody reads this status; it keeps such requests apart in the metrics."""


class RequestError(Exception):
    """Ends a request with a status and one readable line."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = headers or {}

    @property
    def reason(self) -> str:
        """Why, in a word, for the metrics."""
        return self.code or f"status {self.status}"

    def facts(self) -> dict[str, Any]:
        """Give it as a JSON value."""
        default = "invalid_request_error" if self.status < 500 else "server_error"
        return {
            "error": {
                "message": self.message,
                "type": _TYPES.get(self.status, default),
                "param": self.param,
                "code": self.code,
            }
        }


def wrong_field(param: str, expected: str, *, code: str | None = None) -> RequestError:
    """Say what a field should have been."""
    return RequestError(422, f"{param}: expected {expected}", param=param, code=code)


def queue_is_full(seconds: float) -> RequestError:
    """Ask a client to come back after so many seconds."""
    wait = max(1, math.ceil(seconds))
    return RequestError(
        429,
        f"the server has as much to do as it takes on; try again in {wait} s",
        code="queue_full",
        headers={"Retry-After": str(wait)},
    )


def shutting_down() -> RequestError:
    """Say that no new request is taken."""
    return RequestError(
        503,
        "the server is shutting down and takes no new requests",
        code="shutting_down",
        headers={"Retry-After": "1"},
    )


def internal_problem() -> RequestError:
    """Say no more than that the fault is ours; the log has the rest."""
    return RequestError(500, "the server failed to answer this request", code="internal_error")


def status_problem(status: int, headers: dict[str, str] | None = None) -> RequestError:
    """Give the problem for a status of the web framework, such as 404 or 405."""
    known = {
        404: "there is no such route; GET /openapi.json lists the routes",
        405: "this route does not take this method",
    }
    message = known.get(status) or HTTPStatus(status).phrase.lower()
    return RequestError(status, message, headers=headers)


def problem_of_input(error: InputError, *, param: str = "input") -> RequestError:
    """Turn the library's message into one without the value that it found."""
    expected, found, _ = str(error).partition(", found ")
    if not found:
        expected = "expected something else here; see the route's description"
    # Some messages begin with the library's name for the field.
    _, colon, rest = expected.partition(": expected ")
    said = f"expected {rest}" if colon else expected.removeprefix(f"{param}: ")
    return RequestError(422, f"{param}: {said}", param=param)
