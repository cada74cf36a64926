"""Bulk embedding on real Ray clusters: machines and drivers die, and no line is lost or doubled.

The cluster of several machines is Ray's own for tests: each machine is a set of processes with
its own object store, and is killed without a word.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_file import embed_file
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.integrations.ray import embed_files

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kills processes that it finds in /proc"),
    # Ray leaves sockets and files of its processes to the end of the program.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TINY = "tiny-untrained"
SHARD_BYTES = 6000
SECONDS = 240
# A machine counts as lost after some seconds; Ray's own half a minute would be waited for here.
SOON = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 10,
}
OBJECT_STORE = 80 * 2**20


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One large file that is cut often, and a small one with every oddity."""
    folder = tmp_path_factory.mktemp("texts")
    large, small = folder / "large.txt", folder / "small.txt"
    large.write_text(
        "".join(
            f"Sentence {n} says that {n * 7919 % 1000} more words will follow.\n"
            + "\n" * (n % 9 == 0)
            for n in range(5000)
        )
    )
    small.write_bytes("\ufeffOne.\r\n\n\nA lone \r here, 漢字 too\n\nno end".encode())
    return [large, small]


@pytest.fixture(scope="module")
def expected(texts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> pyarrow.Table:
    """The rows that one process writes for each file alone."""
    folder = tmp_path_factory.mktemp("expected")
    tables = []
    for file in texts:
        embed_file(load(TINY, device="cpu"), file, folder / "one.parquet")
        table = pyarrow.parquet.read_table(folder / "one.parquet")
        tables.append(table.append_column("source", pyarrow.array([str(file)] * len(table))))
    return pyarrow.concat_tables(tables)


def numbers_of(table: pyarrow.Table) -> np.ndarray[Any, Any]:
    vectors = table.column("vectors").combine_chunks()
    found: np.ndarray[Any, Any] = vectors.flatten().flatten().to_numpy()
    return found


def assert_whole(folder: Path, expected: pyarrow.Table) -> None:
    """Every line exactly once, in files that are all complete, with the vectors of one process."""
    found = pyarrow.parquet.read_table(folder).sort_by("id")
    assert found.column("id").to_pylist() == list(range(len(expected)))
    for name in ("source", "index", "text", "tokens"):
        assert found.column(name).to_pylist() == expected.column(name).to_pylist()
    np.testing.assert_allclose(numbers_of(found), numbers_of(expected), atol=1e-6, rtol=0)
    assert not [file.name for file in folder.iterdir() if file.name.startswith(".")]
    assert json.loads((folder / "_manifest.json").read_text())["complete"] is True


def shards(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("shard-*.parquet")}


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)


@contextmanager
def ray_folder() -> Iterator[str]:
    """Let Ray work in a folder of its own; its path is short, as names of sockets must be."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Nothing in the way of what users get."""
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    with ray_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that computes nothing and three machines of one core; the third says it has a GPU."""
    from ray.cluster_utils import Cluster

    head = {
        "num_cpus": 0,
        "object_store_memory": OBJECT_STORE,
        "include_dashboard": False,
        "_system_config": SOON,
    }
    with ray_folder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        try:
            for gpus in (0, 0, 1):
                cluster.add_node(num_cpus=1, num_gpus=gpus, object_store_memory=OBJECT_STORE)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return load(TINY, device="cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a real GPU would do it")
def test_an_actor_s_mistake_is_told_as_ours(
    cluster: Any, elmo: Elmo, texts: list[Path], tmp_path: Path
) -> None:
    """Where the cluster has a GPU actors use it; this one is but a claim."""
    del cluster
    with pytest.raises(InputError, match=r"device: .*found 'cuda' \(.*txt, lines 1 to \d+, on "):
        embed_files(elmo, texts, tmp_path / "out")
    assert shards(tmp_path / "out") == {}


def test_a_machine_is_killed_in_the_middle(
    cluster: Any, elmo: Elmo, texts: list[Path], expected: pyarrow.Table, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    at_its_death: list[int] = []

    def kill() -> None:
        # Three shards are in work, one on each machine.
        wait_for(lambda: len(shards(out)) >= 4 and len(list(out.glob(".*.attempts"))) == 3)
        cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
        at_its_death.append(len(shards(out)))

    killer = threading.Thread(target=kill)
    killer.start()
    # The address is not looked at: the program is connected already.
    summary = embed_files(elmo, texts, out, address="auto", device="cpu", shard_bytes=SHARD_BYTES)
    killer.join()
    assert 4 <= at_its_death[0] < summary.shards - 3
    assert sum(node["Alive"] for node in ray.nodes()) == 3
    assert summary.made == summary.shards > 40
    assert_whole(out, expected)
    assert embed_files(elmo, texts, out, device="cpu", shard_bytes=SHARD_BYTES).made == 0


def ray_processes(folder: str) -> list[int]:
    """Find what was started with that folder; actors hide their command."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"RAY_TMPDIR={folder}\0".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def command(texts: list[Path], out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "elmokit.cli", "embed", *map(str, texts), "-o", str(out)),
        *("--ray", "local", "--concurrency", "2", "--shard-bytes", str(SHARD_BYTES)),
        *("--model", TINY, "--device", "cpu", "--json"),
    ]


@pytest.mark.parametrize(
    "by",
    [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
    ids=["killed", "stopped"],
)
def test_the_driver_ends_in_the_middle(
    by: signal.Signals,
    own_folder: str,
    texts: list[Path],
    expected: pyarrow.Table,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    # Not for the output of Ray's processes, who may live longer than the driver.
    with (tmp_path / "log").open("wb") as log:
        driver = subprocess.Popen(command(texts, out), stdout=log, stderr=log)
        try:
            wait_for(lambda: len(shards(out)) >= 4 or driver.poll() is not None)
        finally:
            driver.send_signal(by)
            driver.wait(SECONDS)
    wait_for(lambda: not ray_processes(own_folder))
    if by == signal.SIGTERM:
        assert driver.returncode == 130
        told = (tmp_path / "log").read_text().splitlines()[-1]
        assert told.startswith("elmo: error: interrupted; shards that are complete stay")
    there = shards(out)
    assert 4 <= len(there) < 40, (tmp_path / "log").read_text()

    again = subprocess.run(
        command(texts, out), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert again.returncode == 0, again.stderr
    facts = json.loads(again.stdout)
    assert facts["made"] == facts["shards"] - len(there)
    assert shards(out).items() >= there.items()
    assert_whole(out, expected)
    notes = [line for line in again.stderr.splitlines() if "is untrained" not in line]
    assert notes == [], "Ray talks"


CRASH = """
import os, sys
if "default_worker.py" in " ".join(sys.orig_argv):
    import elmokit.embed.embed_pieces as module
    really = module.embed_pieces
    def embed_pieces(elmo, pieces, *rest, **options):
        if pieces[0].number == 3:
            os._exit(1)
        really(elmo, pieces, *rest, **options)
    module.embed_pieces = embed_pieces
"""


@pytest.mark.slow
def test_a_text_that_ends_its_process_each_time_ends_the_run(
    own_folder: str, texts: list[Path], expected: pyarrow.Table, tmp_path: Path
) -> None:
    """Ray itself would begin it anew for ever."""
    (tmp_path / "crash").mkdir()
    (tmp_path / "crash" / "sitecustomize.py").write_text(CRASH)
    crashing = {**os.environ, "PYTHONPATH": str(tmp_path / "crash")}
    out = tmp_path / "out"
    first = subprocess.run(
        command(texts, out),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=crashing,
    )
    assert first.returncode == 2, first.stderr
    assert "died 5 times, perhaps for lack of memory" in first.stderr
    assert "shard-000003.parquet" not in shards(out)
    wait_for(lambda: not ray_processes(own_folder))
    subprocess.run(command(texts, out), capture_output=True, timeout=SECONDS, check=True)
    assert_whole(out, expected)


@pytest.mark.slow
def test_the_example_finds_rivers_by_a_river(own_folder: str) -> None:
    del own_folder
    finished = subprocess.run(
        [sys.executable, str(Path(__file__).parents[2] / "examples" / "ray_embed.py")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[0] == "3 shards, 3 made now: 7 sentences, 48 tokens"
    assert lines[1] == "bank in rivers.txt, line 1: She sat on the bank of the river."
    assert "walks.txt, line 1" in lines[2]
    assert "money.txt, line 1" in lines[-1]


@pytest.mark.slow
def test_through_ray_client(
    own_folder: str, texts: list[Path], expected: pyarrow.Table, tmp_path: Path
) -> None:
    """A cluster with a password, from outside, by both kinds of address."""
    pytest.importorskip("grpc", reason="Ray Client needs ray[client]")
    ports = free_ports(2)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    environment = os.environ | token | {"RAY_USAGE_STATS_ENABLED": "0"}
    start = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--num-cpus=2"),
        *(f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}"),
        *("--include-dashboard=false", f"--object-store-memory={OBJECT_STORE}"),
    ]
    try:
        subprocess.run(start, env=environment, check=True, capture_output=True, timeout=SECONDS)
        for address in (f"ray://127.0.0.1:{ports[1]}", f"127.0.0.1:{ports[0]}"):
            out = tmp_path / address[:3]
            words = command(texts, out)
            words[words.index("local")] = address
            finished = subprocess.run(
                words, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            assert finished.returncode == 0, finished.stderr
            assert json.loads(finished.stdout)["made"] > 40
            assert_whole(out, expected)
            locked_out = subprocess.run(
                [*words[:-1], "--layers", "top", "-o", str(tmp_path / "no")],
                env={**os.environ, "RAY_AUTH_MODE": "disabled"},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            assert locked_out.returncode == 2
            assert f"no connection to '{address}'" in locked_out.stderr
            assert "RAY_AUTH_TOKEN" in locked_out.stderr
    finally:
        for process in ray_processes(own_folder):
            os.kill(process, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Find ports below those that Ray gives to its own processes."""
    found: list[int] = []
    for port in range(7000, 9990):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) and len(found) < count:
                found.append(port)
    return found
