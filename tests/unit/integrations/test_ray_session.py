"""Finding a cluster, and leaving the process as it was."""

import os
import signal
import socket
import sys
from typing import Any

import pytest

from elmokit.errors import InputError, MissingExtraError
from elmokit.integrations import ray_session as module
from elmokit.integrations.ray_session import check_address, load_ray, ray_session


@pytest.mark.parametrize(
    "address", ["", "localhost", "host:", "ray://host", "host:port", "http://host:1", "a b:1"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InputError, match=r"ray: expected 'local' .*ray://HOST:PORT"):
        check_address(address)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_nobody_answers(scheme: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and listens not
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=f"ray: no connection to '{address}'"):
            check_address(address)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_somebody_answers(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_address(f"{scheme}127.0.0.1:{server.getsockname()[1]}")
    check_address("local")
    check_address("auto")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmokit\[ray\]"'):
        load_ray()


class FakeRay:
    """Notes what Ray would see, and does what it does to the process."""

    def __init__(self, *, connected: bool = False, failure: Exception | None = None) -> None:
        self.connected = connected
        self.failure = failure
        self.seen: dict[str, Any] = {}
        self.environment: dict[str, str] = {}

    def is_initialized(self) -> bool:
        return self.connected

    def init(self, **arguments: Any) -> None:
        os.write(2, b"Ray talks\n")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.seen = arguments
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        self.environment = {name: value for name, value in os.environ.items() if "RAY" in name}
        if self.failure is not None:
            raise self.failure
        self.connected = True

    def shutdown(self) -> None:
        self.connected = False


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(module, "load_ray", lambda: fake)
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    return fake


def test_the_process_is_left_as_it_was(fake: FakeRay, capfd: pytest.CaptureFixture[str]) -> None:
    variables, answer = dict(os.environ), signal.getsignal(signal.SIGTERM)
    with ray_session("local", object_bytes=2**30):
        assert fake.connected
        assert signal.getsignal(signal.SIGTERM) == answer
    assert not fake.connected
    assert dict(os.environ) == variables
    assert capfd.readouterr().err == ""
    assert fake.seen["object_store_memory"] == 2**31
    assert fake.seen["include_dashboard"] is False
    assert fake.environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert len(fake.environment["RAY_AUTH_TOKEN"]) == 64


def test_wishes_of_the_user_count(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the user")
    with ray_session("local", object_bytes=0):
        assert fake.environment["RAY_AUTH_TOKEN"] == "of the user"
    assert os.environ["RAY_AUTH_TOKEN"] == "of the user"


def test_a_connection_of_the_program_is_used(fake: FakeRay) -> None:
    fake.connected = True
    with ray_session("local", object_bytes=0):
        pass
    assert fake.connected
    assert fake.seen == {}


@pytest.mark.parametrize(
    "failure", [ConnectionError("no way\nand a page more"), RuntimeError("no way")]
)
def test_no_cluster(fake: FakeRay, failure: Exception) -> None:
    fake.failure = failure
    answer = signal.getsignal(signal.SIGTERM)
    told = {"auto": "this machine belongs to no cluster", "local": "no way"}
    for address, why in told.items():
        expected = rf"no connection to '{address}' \({why}\)"
        with pytest.raises(InputError, match=expected), ray_session(address, object_bytes=0):
            pass
    assert not fake.connected
    assert signal.getsignal(signal.SIGTERM) == answer
