"""How many actors a cluster gets, and what is refused before one is asked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.integrations.ray import _gpus, _room, embed_files

pytest.importorskip("ray")


def cluster(*nodes: dict[str, float], dead: int = 0) -> Any:
    known = [{"Alive": place >= dead, "Resources": node} for place, node in enumerate(nodes)]
    gpus = sum(node.get("GPU", 0) for node in nodes)
    return SimpleNamespace(
        nodes=lambda: known, cluster_resources=lambda: {"GPU": gpus} if gpus else {}
    )


def test_room_is_counted_machine_by_machine() -> None:
    machines = cluster({"CPU": 7.0}, {"CPU": 5.0}, {"memory": 1.0})
    assert _room(machines, 1, 0) == 12
    assert _room(machines, 4, 0) == 2  # and not the 3 that 12 cores would have
    assert _room(machines, 0.5, 0) == 24
    assert _room(cluster({"CPU": 8.0}, {"CPU": 8.0}, dead=1), 1, 0) == 8
    assert _room(cluster({"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0}), 1, 1) == 2
    assert _room(cluster({"CPU": 8.0, "GPU": 2.0}), 1, 0.5) == 4
    assert _room(cluster({"CPU": 3.0, "GPU": 8.0}), 1, 1) == 3
    with pytest.raises(InputError, match="no machine of the cluster has 8 CPUs and 0 GPUs"):
        _room(machines, 8, 0)
    with pytest.raises(InputError, match="has 1 CPUs and 1 GPUs"):
        _room(machines, 1, 1)


def test_gpus_are_used_where_there_are_any() -> None:
    with_gpus, without = cluster({"CPU": 8.0, "GPU": 2.0}), cluster({"CPU": 8.0})
    assert (_gpus(with_gpus, None, "auto"), _gpus(without, None, "auto")) == (1, 0)
    assert (_gpus(with_gpus, None, "cpu"), _gpus(without, None, "cuda")) == (0, 1)
    assert _gpus(with_gpus, 0.25, "auto") == 0.25
    assert _gpus(with_gpus, 0, "auto") == 0


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return load("tiny-untrained", device="cpu")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"address": "nowhere"}, "ray: expected 'local'"),
        ({"num_cpus": 0}, "num_cpus: expected a number above 0, found 0"),
        ({"num_cpus": float("nan")}, "num_cpus: .* found nan"),
        ({"num_gpus": -1}, "num_gpus: expected 0 or more, found -1"),
        ({"concurrency": 0}, "concurrency: .* found 0"),
        ({"device": "cuda:1"}, "device: .*'cuda:1'.*Ray's choice"),
        ({"device": "cpu", "num_gpus": 1}, "num_gpus, device: .* found 1 and 'cpu'"),
        ({"device": "cuda", "num_gpus": 0}, "num_gpus, device: 'cuda' needs"),
        ({"layers": "bottom"}, "layers: .*'bottom'"),
        ({"dtype": "int4"}, "dtype: .*'int4'"),
        ({"dtype": "tf32", "device": "cpu"}, "dtype: .*on cpu, found 'tf32'"),
    ],
)
def test_mistakes_cost_nothing(
    elmo: Elmo, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    (tmp_path / "text.txt").write_text("A sentence.\n")
    with pytest.raises(InputError, match=told):
        embed_files(elmo, [tmp_path / "text.txt"], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
