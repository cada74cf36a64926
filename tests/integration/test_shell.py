"""`elmo` as people run it: a process of its own, pipes, signals."""

import contextlib
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
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_output_is_not_there(
    half_way: subprocess.Popen[bytes], tmp_path: Path, kind: signal.Signals
) -> None:
    half_way.send_signal(kind)
    out, err = half_way.communicate(timeout=PATIENCE)
    assert half_way.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert err.count(b"interrupted; no output was written") == 1
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


@needs_signals
def test_a_full_disk_ends_a_run_whose_input_says_nothing(tmp_path: Path) -> None:
    output = tmp_path / "out.npz"
    # A file that may not grow any more fails as a full disk does.
    limited = ["bash", "-c", 'ulimit -f 16; exec "$0" "$@"']
    process = subprocess.Popen(
        [*limited, ELMO, "embed", "-", "-o", str(output), "--batch-tokens", "1", *TINY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        process.stdin.write(b"one two three four five six seven eight\n" * 64)
        process.stdin.flush()
        code = process.wait(PATIENCE)  # while its input stays open
        err = process.stderr.read().decode()
    finally:
        process.kill()
        process.communicate()
    assert code == 2
    assert [line for line in err.splitlines() if "note" not in line] == [
        "elmo: error: system: File too large"
    ]
    assert not list(tmp_path.iterdir())


def test_several_processes_write_what_one_does(tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    lines = [" ".join(f"w{number}" for number in range(n * 7 % 13)) for n in range(60)]
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    arrays = {}
    for name, options in {
        "one": [],
        "workers": ["--workers", "2"],
        "devices": ["--device", "cpu,cpu"],
    }.items():
        output = tmp_path / f"{name}.npz"
        found = elmo(
            *("embed", text, "-o", output, "--layers", "all", "--batch-tokens", 16, "--json"),
            *(*TINY, *options),
        )
        assert found.returncode == 0, found.stderr
        facts = json.loads(found.stdout)
        assert (facts["sentences"], facts["tokens"]) == (60, sum(len(s.split()) for s in lines))
        with np.load(output) as archive:
            arrays[name] = {key: archive[key] for key in archive.files}
    assert arrays["one"].keys() == arrays["workers"].keys() == arrays["devices"].keys()
    tokens = {str(found.pop("tokens")) for found in arrays.values()}
    assert len(tokens) == 1
    for key, expected in arrays["one"].items():
        np.testing.assert_allclose(arrays["workers"][key], expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(arrays["devices"][key], expected, rtol=0, atol=1e-6)


@contextlib.contextmanager
def started_to_share(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, first of its group, with two workers and more than enough to do."""
    (folder / "in.txt").write_bytes(b"one two three four five six seven eight nine\n" * 500_000)
    process = subprocess.Popen(
        [ELMO, "embed", "in.txt", "-o", "out.npz", "--workers", "2", *TINY],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | {"PYTHONFAULTHANDLER": "1"},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while len(workers_of(process)) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose two workers are starting or at work."""
    with started_to_share(tmp_path) as process:
        yield process


def workers_of(process: subprocess.Popen[bytes]) -> list[str]:
    """Find worker processes in the group of a process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            group = (folder / "stat").read_text().rsplit(")", 1)[1].split()[2]
            if (
                int(group) == process.pid
                and "elmokit.embed.worker" in (folder / "cmdline").read_text()
            ):
                found.append(folder.name)
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux")


@needs_proc
@pytest.mark.parametrize("seconds", [0, 4], ids=["that start", "at work"])
def test_ctrl_c_ends_workers(
    sharing: subprocess.Popen[bytes], tmp_path: Path, seconds: float
) -> None:
    time.sleep(seconds)
    interrupt(sharing, tmp_path)


@needs_proc
@pytest.mark.slow
def test_ctrl_c_ends_workers_at_any_moment_of_their_start(tmp_path: Path) -> None:
    """A pool once hung where a moment was met that most runs miss."""
    for attempt in range(40):
        with started_to_share(tmp_path) as process:
            time.sleep(0.1 * attempt)
            interrupt(process, tmp_path)


def interrupt(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Send Ctrl-C, and see that all ends and nothing is left."""
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # so that it says where it hangs
        pytest.fail(process.communicate()[1].decode())
    assert process.returncode == 130
    assert out == b""
    assert [line for line in err.decode().splitlines() if "note" not in line] == [
        "elmo: error: interrupted; no output was written"
    ]
    assert workers_of(process) == []
    assert [file.name for file in folder.iterdir()] == ["in.txt"]


@needs_proc
def test_workers_end_with_a_process_that_was_killed(sharing: subprocess.Popen[bytes]) -> None:
    sharing.kill()
    sharing.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while workers_of(sharing):
        assert time.monotonic() < deadline
        time.sleep(0.05)
