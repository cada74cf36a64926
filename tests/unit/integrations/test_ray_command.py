"""`elmo embed` with folders and with --ray: what it understands and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from elmokit.cli.main import run
from elmokit.embed.embed_shards import ShardsSummary

TINY = ["--model", "tiny-untrained"]
Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Run `elmo embed` beside two texts."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("She didn't sit.\n\nOn the bank\n")
    Path("b.txt").write_text("One more.\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["embed", *TINY, *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("output", ["new/", "there", "./below/deep/"])
def test_one_file_goes_into_a_folder_that_is_named_as_one(shell: Shell, output: str) -> None:
    Path("there").mkdir()
    code, out, err = shell("a.txt", "-o", output)
    assert (code, err) == (0, "")
    assert "1 shards (all made now), 3 sentences, 8 tokens, 64 numbers a vector" in out
    assert Path(output, "shard-000000.parquet").is_file()


def test_several_files_go_into_a_folder(shell: Shell) -> None:
    code, out, err = shell("a.txt", "b.txt", "-o", "out", "--json", "--layers", "top")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts.pop("seconds") >= 0
    assert facts == {
        "output": "out",
        "shards": 2,
        "made": 2,
        "sentences": 4,
        "tokens": 11,
        "dim": 64,
    }
    table = pyarrow.parquet.read_table("out").sort_by("id")
    assert table.column("source").to_pylist() == ["a.txt"] * 3 + ["b.txt"]
    assert table.column("index").to_pylist() == [0, 1, 2, 0]
    code, out, _ = shell("a.txt", "b.txt", "-o", "out", "--layers", "top")
    assert code == 0
    assert "2 shards (0 made now)" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.txt", "b.txt", "-o", "out.h5"], "2 text files make a folder of shards, found out.h5"),
        (["a.txt", "-o", "out.npz", "--ray", "local"], "--ray writes a folder of shards"),
        (["a.txt", "-o", "out"], "or in / for a folder of shards, found out"),
        (["a.txt", "c.txt", "-o", "out"], "c.txt: no such file"),
        (["a.txt", "-o", "out.h5", "--shard-bytes", "9"], "--shard-bytes: only folders"),
        (["a.txt", "-o", "out/", "--shard-bytes", "0"], "shard_bytes: .*, found 0"),
        (["-", "-o", "out/"], "-: a folder of shards"),
        (["a.txt", "-o", "out/", "--start", "carry"], "start: .*'carry'"),
        (["a.txt", "--ray", "-o", "out/"], "found '-o'.*write --ray local"),
        (["-o", "out/", "--ray", "a.txt"], "found 'a.txt'.*write --ray local"),
        (["a.txt", "-o", "out/", "--ray"], "'--ray' requires an argument"),
        (["a.txt", "-o", "out/", "--ray", "nowhere"], "ray: expected 'local'.*'nowhere'"),
        (["a.txt", "-o", "out/", "--ray", "local", "--workers", "3"], "use --concurrency 3"),
        (["a.txt", "-o", "out/", "--concurrency", "3"], "--concurrency: given without --ray"),
        (["a.txt", "-o", "out/", "--num-cpus", "3"], "--num-cpus: given without --ray"),
        (["a.txt", "-o", "out/", "--num-gpus", "3"], "--num-gpus: given without --ray"),
    ],
)
def test_mistakes_with_folders(shell: Shell, arguments: list[str], told: str) -> None:
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(err)
    assert {file.name for file in Path().iterdir()} == {"a.txt", "b.txt"}


def test_what_ray_is_called_with(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def embed_files(elmo: Any, files: Any, output: Any, **options: Any) -> ShardsSummary:
        calls.append((elmo.dtype, str(elmo.device), files, output, options))
        print("a machine is lost")  # as Ray says it
        return ShardsSummary(str(output), 3, 1, 4, 11, 64, 0.5)

    monkeypatch.setattr("elmokit.integrations.ray.embed_files", embed_files)
    code, out, err = shell(
        *("a.txt", "b.txt", "-o", "out", "--ray", "ray://host:10001", "--dtype", "tf32"),
        *("--device", "cuda", "--num-gpus", "0.5", "--num-cpus", "2", "--concurrency", "7"),
        *("--layers", "0.5,0,1", "--float16", "--tokenised", "--batch-tokens", "99"),
        *("--shard-bytes", "1000"),
    )
    assert (code, err) == (0, "a machine is lost\n")
    assert "out: 3 shards (1 made now), 4 sentences" in out
    dtype, device, files, output, options = calls[0]
    assert (dtype, device, files, output) == ("float32", "cpu", ["a.txt", "b.txt"], "out")
    assert options == {
        "address": "ray://host:10001",
        "layers": [0.5, 0.0, 1.0],
        "tokenised": True,
        "float16": True,
        "dtype": "tf32",
        "device": "cuda",
        "batch_tokens": 99,
        "shard_bytes": 1000,
        "num_cpus": 2.0,
        "num_gpus": 0.5,
        "concurrency": 7,
        "progress": True,
    }
    assert shell("a.txt", "-o", "out", "--ray", "local", "--json")[1].count("\n") == 1
    assert calls[1][-1]["num_cpus"] == 1
    assert calls[1][-1]["num_gpus"] is calls[1][-1]["concurrency"] is None


def test_interrupted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def embed_shards(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("elmokit.embed.embed_shards.embed_shards", embed_shards)
    with pytest.raises(SystemExit) as ended:
        shell("a.txt", "-o", "out/")
    assert ended.value.code == 130
    assert "interrupted; shards that are complete stay" in capsys.readouterr().err
