"""`elmo serve` as people start it: a process, its first line, its errors, its end."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from elmokit.cli.main import run
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.serve.small_service import CONFIG, PATIENCE, WORDS

READY = re.compile(r"elmo: serving (.+) at (http://\S+)\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is not said to be untrained, which would be noted."""
    folder = tmp_path_factory.mktemp("models") / "small"
    checkpoint = untrained_checkpoint(CONFIG, scale=2.0, vocabulary=Vocabulary(WORDS))
    native.write(replace(checkpoint, metadata={"name": "small"}), folder)
    return folder


@contextmanager
def started(*arguments: object) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """Start a server; gives its process, what it serves and where."""
    words = [sys.executable, "-m", "elmokit.cli", "serve", "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(
        words,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = READY.fullmatch(line)
        assert match is not None, (line, process.stderr and process.stderr.read())
        yield process, match[1], match[2]
    finally:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[str]", number: signal.Signals) -> str:
    """Send a signal, wait for an end without complaints, and give what was noted."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out == ""
    return err


def keep_asking(url: str, codes: list[int], enough: threading.Semaphore) -> None:
    headers = {"Authorization": "Bearer a-key"}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client:
        while 503 not in codes:
            try:
                answer = client.post("/v1/embeddings", json={"input": ["a cat"] * 50})
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError):
                return  # it was not accepted: nothing of an answer has come
            codes.append(answer.status_code)
            enough.release()


def test_the_end_in_the_middle_of_requests_loses_none(folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a-key\n", encoding="utf-8")
    choices = ("--model", folder, "--model", f"other={folder}", "--api-key-file", keys)
    with started(*choices) as (process, names, url):
        assert names == "small, other"
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert httpx.get(f"{url}/v1/models").status_code == 401
        codes: list[list[int]] = [[] for _ in range(4)]
        enough = threading.Semaphore(0)
        threads = [threading.Thread(target=keep_asking, args=(url, own, enough)) for own in codes]
        for thread in threads:
            thread.start()
        for _ in range(20):
            assert enough.acquire(timeout=PATIENCE)
        assert ended(process, signal.SIGTERM) == ""
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        for own in codes:
            assert set(own) <= {200, 503}
            assert own.count(503) <= 1


def test_who_opens_a_server_to_others_is_warned(folder: Path) -> None:
    with started("--model", folder, "--host", "0.0.0.0") as (process, _, url):
        assert url.startswith("http://0.0.0.0:")
        err = ended(process, signal.SIGINT)
    assert err.startswith("elmo: note: anybody who reaches 0.0.0.0 can use this server")
    assert err.count("\n") == 1


def test_mistakes_are_one_line_and_a_code(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    free = ["--port", "0"]
    model = [*free, "--model", str(folder)]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        cases = [
            (["--port", port], f"cannot answer on 127.0.0.1 port {port} "),
            ([*free, "--api-key-file", str(tmp_path / "none")], "there is no file"),
            ([*free, "--host", "no.such.host.invalid"], "expected an address"),
            (["--port", "99999"], "from 0 to 65535, found 99999"),
            ([*free, "--model", "nothing"], "no bundled model is called 'nothing'"),
            ([*model, *model], "found 'small' twice"),
            ([*model, "--index", str(tmp_path)], "is no index"),
            ([*model, "--task", "nothing"], "nothing"),
            ([*model, "--max-queue", "0"], "queue_requests: expected"),
            ([*model, "--max-batch-tokens", "0"], "batch_tokens: expected"),
        ]
        for arguments, problem in cases:
            assert run(["serve", *arguments]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert re.search(problem, err), err
            assert err.startswith("elmo: error: ")
            assert err.count("\n") == 1


def test_what_is_missing_can_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("elmokit.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "orjson", None)
    assert run(["serve"]) == 2
    err = capsys.readouterr().err
    assert "needs the package orjson" in err
    assert 'pip install "elmokit[serve]"' in err
