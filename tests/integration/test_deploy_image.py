"""The image of deploy/Dockerfile, built by a real engine and run as docs/deploying.md says.

Where the engine cannot reach a registry, an image that is named as the first stage's will do.
"""

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import elmokit

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "elmokit-test"
PATIENCE = 300  # seconds


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def has_engine() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_engine(), reason="needs a running Docker engine"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run the image's own command with nothing to write to but /tmp; give the container's name."""
    name = f"{IMAGE}-{os.getpid()}"
    index = os.environ.get("TORCH_INDEX", "")
    docker(
        *("build", "--file", str(ROOT / "deploy" / "Dockerfile"), "--tag", IMAGE),
        *("--build-arg", f"TORCH_INDEX={index}", str(ROOT)),
    )
    docker(
        *("run", "--detach", "--name", name, "--publish", "127.0.0.1::8000"),
        *("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", IMAGE),
    )
    try:
        yield name
    finally:
        docker("rm", "--force", name)


def wait_for(name: str, form: str, wanted: str) -> None:
    end = time.monotonic() + PATIENCE
    while (found := docker("inspect", "--format", form, name)) != wanted:
        assert time.monotonic() < end, f"{found} after {PATIENCE} s: {docker('logs', name)}"
        time.sleep(1)


def ask(name: str, path: str, body: object = None) -> bytes:
    """Give the answer of a server, which may be about to begin."""
    address = f"http://{docker('port', name, '8000/tcp')}{path}"
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=60) as page:
        found: bytes = page.read()
    return found


def test_it_becomes_healthy_and_gives_the_library_s_vectors(server: str) -> None:
    wait_for(server, "{{.State.Health.Status}}", "healthy")
    text = "The bank raised its rates."
    body = {"model": "english-base", "input": text, "encoding_format": "float"}
    (found,) = json.loads(ask(server, "/v1/embeddings", body))["data"]
    expected = elmokit.load(device="cpu").encode([text])[0]
    # The same weights in float32; another machine's kernels may sum in another order.
    assert found["embedding"] == pytest.approx(expected.tolist(), abs=1e-5)
    assert b"<html" in ask(server, "/")
    assert b"elmokit_request_seconds_count" in ask(server, "/metrics")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(server, "/nothing")


def test_it_is_nobody_and_writes_below_tmp_alone(server: str) -> None:
    assert docker("exec", server, "id", "-u") == "10001"
    docker("exec", server, "touch", "/tmp/file")
    for place in ("/file", "/opt/elmokit/file"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            docker("exec", server, "touch", place)
    # Pip and what torch is built with are left behind.
    assert "No module named pip" in docker("exec", server, "sh", "-c", "python -m pip 2>&1; true")


def test_it_ends_well_when_it_is_asked_to(server: str) -> None:
    docker("stop", "--time", "60", server)
    assert docker("inspect", "--format", "{{.State.ExitCode}}", server) == "0"


def test_other_commands_run_from_the_same_image(server: str) -> None:
    del server  # built by now
    assert json.loads(docker("run", "--rm", IMAGE, "info", "--json"))["name"] == "english-base"
