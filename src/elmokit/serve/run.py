"""A server in a process: the socket, the signals, and an end that loses nothing."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
from collections.abc import Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from elmokit.errors import InputError
from elmokit.serve.service import Service

# How long the end may take, so that whoever asked for it need not kill us.
SECONDS_TO_FINISH = 25.0
# Clients that are about to send learn that the server is going before their connections close.
SECONDS_OF_NOTICE = 0.2


def listening_socket(host: str, port: int) -> socket.socket:
    """Take a port, without answering on it yet."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise InputError(f"host: expected an address of this machine, found {host!r}") from error
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        taken.close()
        raise InputError(
            f"port: {port} on {host} cannot be used ({error.strerror}); choose another with --port"
        ) from error
    taken.set_inheritable(False)
    return taken


def address_of(taken: socket.socket) -> str:
    """Give a socket's address as a URL."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(taken: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    return ipaddress.ip_address(taken.getsockname()[0]).is_loopback


class Server(uvicorn.Server):
    """uvicorn, with an end in two steps: first no new requests, then no connections."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=5,
            )
        )
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; the second time, end at once."""
        if self.should_exit:
            self.force_exit = True
        self._service.draining = True
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals. uvicorn would raise them again at the end; here the end is 0."""
        known = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in known}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was accepted, then close."""
        self._service.draining = True
        await asyncio.sleep(SECONDS_OF_NOTICE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_TO_FINISH):
                while self._service.accepted and not self.force_exit:
                    await asyncio.sleep(0.02)
        await super().shutdown(sockets)


def serve(app: ASGIApp, service: Service, taken: socket.socket) -> None:
    """Answer on a socket until a signal asks for the end."""
    service.start()
    server = Server(app, service)
    print(f"elmo: serving {', '.join(service.models)} at {address_of(taken)}", flush=True)
    server.run(sockets=[taken])
    if server.force_exit:
        sys.stderr.flush()
        return
    service.stop()
