"""A server in a process: the socket, the signals, and an end that loses nothing."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from elmokit.errors import InputError
from elmokit.serve.connection import Connection
from elmokit.serve.service import Service

MOST_PORT = 65535
# How long accepted requests may take at the end, so that whoever asked for it need not kill us.
SECONDS_TO_FINISH = 25
# For so long after the signal clients learn that the server is going, and what they have just
# sent is still answered, before connections are closed.
SECONDS_OF_NOTICE = 0.2
# Longer than proxies keep theirs, so that they do not send into a connection that is closing.
SECONDS_TO_KEEP_ALIVE = 75


def taken_socket(host: str, port: int) -> socket.socket:
    """Take a port, without answering on it yet."""
    if not 0 <= port <= MOST_PORT:
        raise InputError(f"port: expected a number from 0 to {MOST_PORT}, found {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"host: expected an address of this machine, found {host!r}") from error
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        taken.close()
        raise InputError(
            f"host, port: cannot answer on {host} port {port} ({error.strerror}); choose others"
        ) from error
    return taken


def address_of(taken: socket.socket) -> str:
    """Give a socket's address as a URL."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(taken: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    return ipaddress.ip_address(taken.getsockname()[0].partition("%")[0]).is_loopback


class Server(uvicorn.Server):
    """uvicorn, with an end in two steps: first no new requests, then no connections."""

    def __init__(
        self, app: ASGIApp, service: Service, *, when_ready: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=SECONDS_TO_KEEP_ALIVE,
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
            )
        )
        self._service = service
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._when_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; the second time, end at once."""
        self.force_exit = self.should_exit
        self._service.draining = True
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals. uvicorn would raise them again at the end; here the end is 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        known = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in known}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse what is new, answer what was accepted, close."""
        self._service.draining = True
        await asyncio.sleep(SECONDS_OF_NOTICE)
        for server in self.servers:
            server.close()
        await asyncio.sleep(SECONDS_OF_NOTICE / 4)  # for what had connected just before
        await super().shutdown(sockets)


def serve(
    app: ASGIApp, service: Service, taken: socket.socket, *, when_ready: Callable[[], None]
) -> None:
    """Answer on a socket until a signal asks for the end."""
    service.start()
    server = Server(app, service, when_ready=when_ready)
    server.run(sockets=[taken])
    if server.force_exit:
        raise KeyboardInterrupt
    service.stop()
