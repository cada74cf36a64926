import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from embed.agreement import agreement
from embed.process import WorkerError, WorkerProcess
from embed.protocol import Settings

TEXT = [["one", "two", "three"], ["four"], ["five", "six"]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    text = tmp_path / "text.json"
    text.write_text(json.dumps(TEXT))
    return Settings(text=str(text), model="tiny-untrained", options={"dtype": "float32"})


@pytest.fixture
def worker(settings: Settings, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(
        Path(sys.executable), "worker_elmokit", settings, log=tmp_path / "worker.log"
    )
    yield worker
    worker.close()


def test_our_worker_answers_every_command(worker: WorkerProcess, tmp_path: Path) -> None:
    assert worker.facts["layers"] == 2
    file = tmp_path / "vectors.npz"
    worker.ask("vectors", indices=[2, 0], file=str(file))
    with np.load(file) as arrays:
        assert [arrays[name].shape[:2] for name in arrays.files] == [(3, 2), (3, 3)]
    same = agreement(file, file)
    assert same["largest_difference"] == 0.0
    assert same["mean_cosine_by_layer"] == pytest.approx([1.0, 1.0, 1.0])
    singles = worker.ask("time", indices=[0, 1, 2], batch=1, forget=True)["calls"]
    assert len(singles) == 3
    assert len(worker.ask("time", indices=[0, 1, 2], batch=None, forget=False)["calls"]) == 1
    assert worker.ask("memory")["peak_bytes"] > 2**20


def test_a_worker_says_why_it_cannot(settings: Settings, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    unknown = Settings(text=settings.text, model="tiny-untrained", options={"dtype": "int7"})
    with pytest.raises(WorkerError, match="int7"):
        WorkerProcess(Path(sys.executable), "worker_elmokit", unknown, log=log)
    with pytest.raises(WorkerError, match=r"No module named embed\.worker_of_nobody"):
        WorkerProcess(Path(sys.executable), "worker_of_nobody", settings, log=log)
    with pytest.raises(WorkerError, match="does not start"):
        WorkerProcess(tmp_path / "python", "worker_elmokit", settings, log=log)
