"""Checkpoints: whole or not there, the last few kept, damage and full disks told."""

import errno
import json
import os
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from elmokit.errors import FormatError, InputError
from elmokit.files import write_manifest
from elmokit.training.checkpoints import Checkpoints, TrainingState, clear_strays

Usage = namedtuple("Usage", "total used free")


def state(step: int) -> TrainingState:
    tensors = {
        "weights/a": torch.arange(6.0).view(2, 3).t() * step,
        "weights/empty": torch.zeros(0, 3),
        "optimiser/a/step": torch.tensor(float(step)),
        "carried/narrow": torch.ones(2, dtype=torch.bfloat16),
    }
    return TrainingState(step, tensors, {"settings": {"rate": 0.1}, "note": "grüße"})


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    found = Checkpoints(tmp_path / "run" / "checkpoints", keep=2)
    found.prepare()
    return found


def test_a_state_goes_round(checkpoints: Checkpoints) -> None:
    assert checkpoints.load() is None
    checkpoints.save(state(7))
    found = checkpoints.load()
    assert found is not None
    assert (found.step, found.facts) == (7, state(7).facts)
    assert found.tensors.keys() == state(7).tensors.keys()
    for name, tensor in state(7).tensors.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert torch.equal(found.tensors[name], tensor)


def test_what_a_checkpoint_consists_of(checkpoints: Checkpoints) -> None:
    checkpoints.save(state(7))
    place = checkpoints.folder / "step-00000007"
    assert sorted(file.name for file in place.iterdir()) == [
        "manifest.json",
        "progress.json",
        "state.safetensors",
    ]
    manifest = json.loads((place / "manifest.json").read_text())["files"]
    assert manifest.keys() == {"progress.json", "state.safetensors"}
    assert (place / "state.safetensors").stat().st_mode & 0o777 == (
        place / "progress.json"
    ).stat().st_mode & 0o777


def test_the_newest_is_loaded_and_the_last_few_kept(checkpoints: Checkpoints) -> None:
    for step in (1, 2, 30, 100_000_000):
        checkpoints.save(state(step))
        found = checkpoints.load()
        assert found is not None
        assert found.step == step
    assert checkpoints.steps() == [30, 100_000_000]
    assert len(list(checkpoints.folder.iterdir())) == 2


def test_a_step_is_saved_once(checkpoints: Checkpoints) -> None:
    checkpoints.save(state(5))
    file = checkpoints.folder / "step-00000005" / "state.safetensors"
    before = file.stat().st_ino
    checkpoints.save(state(5))
    assert file.stat().st_ino == before


def test_other_things_in_the_folder_are_no_checkpoints(checkpoints: Checkpoints) -> None:
    (checkpoints.folder / "step-old").mkdir()
    (checkpoints.folder / "notes.txt").touch()
    assert checkpoints.load() is None


def test_prepare_clears_what_killed_processes_left(checkpoints: Checkpoints) -> None:
    for step in (1, 2):
        checkpoints.save(state(step))
    shutil.copytree(checkpoints.folder / "step-00000002", checkpoints.folder / "step-00000003")
    half = checkpoints.folder / ".step-00000004.0123abcd.partial"
    half.mkdir()
    (half / "state.safetensors").write_bytes(b"half")
    retired = checkpoints.folder / ".step-00000001.partial"
    retired.mkdir()
    (retired / "progress.json").touch()
    checkpoints.prepare()
    names = sorted(path.name for path in checkpoints.folder.iterdir())
    assert names == ["step-00000002", "step-00000003"]


def test_strays_are_cleared_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / ".README.md.0123abcd.partial").touch()
    (tmp_path / "model" / "README.md").touch()
    (tmp_path / ".model.0123abcd.old").mkdir()
    (tmp_path / ".log.jsonl.0123abcd.partial").touch()
    clear_strays(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["README.md", "model"]


@pytest.mark.parametrize("name", ["state.safetensors", "progress.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_checkpoint_is_named(checkpoints: Checkpoints, name: str, damage: str) -> None:
    checkpoints.save(state(5))
    checkpoints.save(state(6))
    place = checkpoints.folder / "step-00000006"
    content = bytearray((place / name).read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "remove":
        (place / name).unlink()
    else:
        (place / name).write_bytes(content if damage == "flip" else content[:-1])
    with pytest.raises(FormatError) as caught:
        checkpoints.load()
    message = str(caught.value)
    assert message.startswith(f"{place}: the checkpoint is damaged ({name}: ")
    assert message.endswith("; delete this folder to go on from step 5")
    shutil.rmtree(place)
    found = checkpoints.load()
    assert found is not None
    assert found.step == 5


def test_a_checkpoint_without_a_manifest(checkpoints: Checkpoints) -> None:
    checkpoints.save(state(6))
    (checkpoints.folder / "step-00000006" / "manifest.json").unlink()
    with pytest.raises(FormatError, match="delete this folder to go on from the beginning"):
        checkpoints.load()


def test_a_checkpoint_of_another_version(checkpoints: Checkpoints) -> None:
    checkpoints.save(state(6))
    place = checkpoints.folder / "step-00000006"
    progress = json.loads((place / "progress.json").read_text()) | {"format_version": 9}
    (place / "progress.json").write_text(json.dumps(progress))
    (place / "manifest.json").unlink()
    write_manifest(place)
    with pytest.raises(FormatError, match=r"progress\.json: unknown version of the format"):
        checkpoints.load()


def test_a_full_disk_is_told_before_anything_is_written(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(state(1))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 2**20))
    with pytest.raises(InputError) as caught:
        checkpoints.save(state(2))
    assert str(caught.value) == (
        f"{checkpoints.folder}: the disk is full: checkpoints need 0 MB more and 1 MB are free; "
        "make room or choose another disk, then start the same command again: it goes on from "
        "step 1"
    )
    assert [path.name for path in checkpoints.folder.iterdir()] == ["step-00000001"]


def test_room_for_all_that_a_run_keeps(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 100 * 2**20
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, free))
    checkpoints.check_space_of_run(28 * 2**20)  # 3 x 28 + 16
    with pytest.raises(InputError, match=r"need 87 MB more and 100 MB are free.*the beginning"):
        checkpoints.check_space_of_run(29 * 2**20)
    checkpoints.save(state(1))
    checkpoints.check_space_of_run(29 * 2**20)  # one of them is there


def failing(errors: int) -> Any:
    def save_file(tensors: Any, file: Path) -> None:
        file.write_bytes(b"half")
        raise OSError(errors, os.strerror(errors))

    return save_file


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_write_that_fails_leaves_the_checkpoints_before(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    checkpoints.save(state(1))
    checkpoints.save(state(2))
    monkeypatch.setattr(safetensors.torch, "save_file", failing(number))
    with pytest.raises(InputError) as caught:
        checkpoints.save(state(3))
    message = str(caught.value)
    assert "the checkpoint of step 3 could not be written" in message
    assert os.strerror(number) in message
    assert message.endswith("start the same command again: it goes on from step 2")
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == [
        "step-00000001",
        "step-00000002",
    ]
    found = checkpoints.load()
    assert found is not None
    assert found.step == 2


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(InputError, match=r"checkpoints cannot be written to \(Not a directory\)"):
        Checkpoints(tmp_path / "run" / "checkpoints", keep=2).prepare()


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written to by root")
def test_a_folder_that_cannot_be_written_to(checkpoints: Checkpoints) -> None:
    checkpoints.folder.chmod(0o500)
    try:
        with pytest.raises(InputError, match=r"cannot be written to.*choose another folder"):
            checkpoints.prepare()
    finally:
        checkpoints.folder.chmod(0o700)


def test_a_folder_that_only_seems_writable(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: Any, **__: Any) -> None:
        if not path.exists():
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"cannot be written to \(Read-only file system\)"):
        checkpoints.prepare()
