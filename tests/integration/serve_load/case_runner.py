"""Sends one case of the corpus and says what is wrong with what comes back."""

import socket
import struct
import time
from pathlib import Path

from integration.serve_load.cases.case import CLOSED, MARKER, Case
from integration.serve_load.exchange import Answer, BrokenAnswerError, Reader, request_bytes

SECONDS_PER_CASE = 20.0
"""Only a hang takes so long."""
# What an answer never says: the input, in any encoding, and where the server's files are.
SECRETS = (
    MARKER.encode(),
    MARKER.encode("utf-16-le"),
    MARKER.encode("utf-16-be"),
    b"Traceback",
    b"site-packages",
    b".py",
    b"/etc/",
    b"/home/",
    b"/root",
    b"/tmp",
    b"/usr/",
    str(Path(__file__).resolve().parents[3]).encode(),
)
PROBE = request_bytes("GET", "/livez")


def run_case(case: Case, port: int) -> list[str]:
    """Send a case; gives what is wrong, an empty list where all is right."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_PER_CASE)
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        deadline = time.monotonic() + SECONDS_PER_CASE
        try:
            _send(connection, case)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may close before everything is sent; what it answered still counts
        except TimeoutError:
            return ["the server stopped reading"]
        if case.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if case.end in ("close", "reset"):
            return []
        if case.end == "half close":
            connection.shutdown(socket.SHUT_WR)
        return _read(connection, case, deadline)


def _send(connection: socket.socket, case: Case) -> None:
    for part in case.sends:
        if isinstance(part, bytes):
            connection.sendall(part)
        else:
            time.sleep(part)


def _read(connection: socket.socket, case: Case, deadline: float) -> list[str]:
    reader = Reader(connection)
    problems: list[str] = []
    for number in range(case.answers):
        try:
            answer = reader.answer(head_only=case.head_only, deadline=deadline)
        except TimeoutError:
            return [*problems, f"answer {number}: none within {SECONDS_PER_CASE} s"]
        except (EOFError, ConnectionResetError):
            if number or CLOSED not in case.right:
                problems.append(f"answer {number}: closed without one")
            return problems
        except BrokenAnswerError as error:
            return [*problems, f"answer {number}: {error}"]
        if not number and answer.status not in case.right:
            problems.append(f"expected {sorted(case.right)}, found {answer.status}")
        problems += secrets_told(answer)
    if case.end == "stay":
        problems += _problems_after(connection, reader, deadline)
    return problems


def secrets_told(answer: Answer) -> list[str]:
    """Give what is wrong with an answer whatever was asked."""
    problems = []
    if answer.status >= 500:
        problems.append(f"the server failed: {answer.status}")
    if answer.status >= 400:
        head = "\n".join(f"{name}: {value}" for name, value in answer.headers.items()).encode()
        problems += [f"tells {one!r}" for one in SECRETS if one in head + answer.body]
    return problems


def _problems_after(connection: socket.socket, reader: Reader, deadline: float) -> list[str]:
    """Where the connection stays open, the next request on it is answered, and only that."""
    try:
        connection.sendall(PROBE)
        answer = reader.answer(deadline=deadline)
        if answer.status == 400:
            return secrets_told(answer)  # what the case left behind was read as a request
        if answer.status != 200 or answer.body != b'{"status":"ok"}':
            return [f"the next request on the connection got {answer.status}"]
    except (EOFError, ConnectionError):
        return []
    except TimeoutError:
        return ["the next request on the connection got no answer"]
    except BrokenAnswerError as error:
        return [f"the next request on the connection: {error}"]
    return []
