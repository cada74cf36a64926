"""`elmo` as people run it: a process of its own, pipes, signals."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

ELMO = shutil.which("elmo", path=str(Path(sys.executable).parent)) or "elmo"
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
TINY = ["--model", "tiny-untrained"]  # any model will do, and this one is quick
PATIENCE = 120  # seconds; torch alone may take long to import where cores are shared

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def elmo(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ELMO, *map(str, arguments)],
        input=text,
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=ENVIRONMENT,
        timeout=PATIENCE,
    )


def test_help_answers_within_half_a_second_without_torch() -> None:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        found = elmo("--help")
        times.append(time.perf_counter() - started)
        assert found.returncode == 0
        assert found.stderr == ""
        assert "embed" in found.stdout
    assert min(times) < 0.5


def test_help_imports_nothing_heavy() -> None:
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from elmokit.cli.main import main; main()"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert "Usage: elmo" in found.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in found.stderr.splitlines()}
    assert "elmokit.cli.main" in imported
    assert not imported & {"torch", "numpy", "h5py", "safetensors", "pyarrow"}


def test_from_standard_input_to_hdf5(tmp_path: Path) -> None:
    output = tmp_path / "out.h5"
    found = elmo(
        "embed", "-", "-o", output, "--layers", "all", *TINY, text="강가의 은행\n\nlast line"
    )
    assert found.returncode == 0
    assert found.stdout.startswith(f"{output}: 3 sentences, 4 tokens")
    notes = found.stderr.splitlines()
    assert len(notes) == 1, "no bar where nobody watches"
    assert notes[0].startswith("elmo: note: ")
    with h5py.File(output) as file:
        assert [file[str(i)].shape for i in range(3)] == [(3, 2, 64), (3, 0, 64), (3, 2, 64)]


def test_scripts_read_standard_output_alone() -> None:
    found = elmo("verify", "tiny-untrained", "--json")
    assert found.returncode == 0
    assert json.loads(found.stdout)["ok"] is True


def test_an_error_of_the_user() -> None:
    found = elmo("info", "no-such-model")
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("elmo: error: ")
    assert found.stderr.count("\n") == 1
    assert "Traceback" in elmo("info", "no-such-model", "--debug").stderr


def test_a_reader_that_leaves_gets_no_traceback() -> None:
    process = subprocess.Popen(
        [ELMO, "info", "tiny-untrained", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(PATIENCE) != 0
    assert "Traceback" not in err


@pytest.fixture
def half_way(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has written sentences to ``out.npz`` and waits for more."""
    (tmp_path / "out.npz").write_bytes(b"what was there")
    process = subprocess.Popen(
        [ELMO, "embed", "-", "-o", str(tmp_path / "out.npz"), "--batch-tokens", "1", *TINY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    # An archive of numbers reaches the disk when its buffer is full: 64 x 12 x 256 bytes.
    process.stdin.write(b"one two three four five six seven eight nine ten eleven twelve\n" * 64)
    process.stdin.flush()
    deadline = time.monotonic() + PATIENCE
    while not any(file.stat().st_size > 0 for file in tmp_path.glob(".out.npz.*.partial")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


@needs_signals
def test_interrupted_output_is_not_there(half_way: subprocess.Popen[bytes], tmp_path: Path) -> None:
    half_way.send_signal(signal.SIGINT)
    out, err = half_way.communicate(timeout=PATIENCE)
    assert half_way.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert (tmp_path / "out.npz").read_bytes() == b"what was there"
    assert [file.name for file in tmp_path.iterdir()] == ["out.npz"]


@needs_signals
def test_killed_output_does_not_look_complete(
    half_way: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    half_way.kill()
    half_way.communicate(timeout=PATIENCE)
    assert half_way.returncode == -signal.SIGKILL
    assert (tmp_path / "out.npz").read_bytes() == b"what was there"


@needs_signals
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    """What opens a pipe to see whether it can be read takes away what is in it."""
    pipe, output = tmp_path / "pipe", tmp_path / "out.npz"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [ELMO, "embed", str(pipe), "-o", str(output), "--json", *TINY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    with pipe.open("w", encoding="utf-8") as stream:
        stream.write("a b\nc\n")
    try:
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert json.loads(out)["sentences"] == 2
    with np.load(output) as archive:
        assert archive["0"].shape == (2, 64)
