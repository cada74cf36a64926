"""Several processes train the task model that one trains, and only the first of them writes."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch

from integration.task_children import child, task_nursery
from integration.training_children import PATIENCE
from integration.training_run import last_state, log_of, model_files, saved_steps
from task_runs import SMALL, TINY, WITHOUT_DROPOUT, data_of, run_small

# Two processes add up gradients in another order than one does.
CLOSE = 1e-5
# Of 20 examples 3 go into a last batch, of which three processes have one each; with 19 in a
# batch the last has one example, and only the first process sees it.
CHANGES = ["epochs=2", "elmo_at=both", "elmo_l2=0.1", *WITHOUT_DROPOUT["ner"]]


def losses_of(run: Path) -> list[float]:
    return [record["training_loss"] for record in log_of(run)]


def assert_close(run: Path, other: Path) -> None:
    assert losses_of(run) == pytest.approx(losses_of(other), abs=CLOSE, rel=0)
    weights = [
        safetensors.torch.load_file(folder / "model" / "model.safetensors")
        for folder in (run, other)
    ]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert tensor.numel() == 0 or (tensor - weights[1][name]).abs().max() < 1e-4, name


@pytest.mark.parametrize("batch_size", [5, 19])
def test_two_processes_are_as_good_as_one(tmp_path: Path, batch_size: int) -> None:
    changes = [*CHANGES, f"batch_size={batch_size}"]
    run_small("ner", tmp_path, *changes, elmo=TINY)
    described = child("ner", tmp_path / "data.jsonl", tmp_path / "two", changes, TINY)
    trace = tmp_path / "trace"
    ended = task_nursery().run_world(2, **described, trace=str(trace))
    assert [process.code for process in ended] == [0, 0], ended
    assert len(losses_of(tmp_path / "two")) == 2 * -(-20 // batch_size)
    assert_close(tmp_path / "two", tmp_path / "run")
    first, second = (
        {name for _, name in json.loads((trace / f"{rank}.json").read_text())} for rank in (0, 1)
    )
    steps = {"gradients", "before the update", "after the update"}
    assert {"tensors", "os.rename", "half of a record"} <= first
    assert second == steps  # it changed no file


def test_two_processes_stop_and_go_on_to_the_bit(tmp_path: Path) -> None:
    # With dropout, which each process draws for itself.
    data = data_of("ner", tmp_path)
    changes = ["epochs=2", "average=0.9"]
    whole, run = (child("ner", data, tmp_path / n, changes, None) for n in ("whole", "run"))
    ended = task_nursery().run_world(2, **whole)
    assert [process.code for process in ended] == [0, 0], ended
    ended = task_nursery().run_world(2, **run, stop={"rank": 1, "step": 4})
    assert [json.loads(process.output) for process in ended] == [
        {"ending": "stopped", "step": 5}
    ] * 2
    assert saved_steps(tmp_path / "run") == [5]
    ended = task_nursery().run_world(2, **run)
    assert [process.code for process in ended] == [0, 0], ended
    assert log_of(tmp_path / "run") == log_of(tmp_path / "whole")
    assert last_state(tmp_path / "run") == last_state(tmp_path / "whole")
    assert model_files(tmp_path / "run") == model_files(tmp_path / "whole")


def test_torchrun(tmp_path: Path) -> None:
    data = data_of("ner", tmp_path)
    run_small("ner", tmp_path, *CHANGES, "epochs=1", elmo=TINY)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sizes = ["hidden_dim=16", "layers=1", "batch_size=5"]
    changes = [w for c in (*SMALL, *sizes, *CHANGES, "epochs=1") for w in ("--set", c)]
    found = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--master-port", str(port), "-m", "elmokit.cli", "task", "train", "ner"),
            *("--train", str(data), "--dev", str(data), "--elmo", TINY, *changes),
            *("-o", str(tmp_path / "two"), "--log-every", "1", "--device", "cpu", "--json"),
        ],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=PATIENCE,
    )
    assert found.returncode == 0, found.stderr
    assert_close(tmp_path / "two", tmp_path / "run")
    report = json.loads(found.stdout)  # of the first process alone
    assert (report["ending"], report["step"]) == ("finished", 4)
    assert report["model"] == str(tmp_path / "two" / "model")
