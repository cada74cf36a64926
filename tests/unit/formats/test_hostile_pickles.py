"""Pickles that would run code if anybody let them: they are refused, and nothing has run."""

import builtins
import io
import os
import pickle
import runpy
import shutil
import subprocess
import tarfile
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import elmokit
from elmokit.formats import many_langs
from unit.formats.small_checkpoints import MANY_LANGS, model, refuses

Call = tuple[Any, tuple[Any, ...]]


class Hostile:
    """Pickles as the call of a function, which unpickling would make."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Call:
        return self.call


class HostileState:
    """Pickles as something harmless whose state is set by a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.state = Hostile(function, *arguments)

    def __reduce__(self) -> Any:
        return (Hostile, (len,), self.state)


Payload = Callable[[Path, str], object]

# From the file to be made, and code that makes it.
PAYLOADS: dict[str, Payload] = {
    "os.system": lambda marker, code: Hostile(os.system, f"touch {marker}"),
    "os.mkdir": lambda marker, code: Hostile(os.mkdir, str(marker)),
    "os.symlink": lambda marker, code: Hostile(os.symlink, "/dev/null", str(marker)),
    "eval": lambda marker, code: Hostile(eval, code),
    "exec": lambda marker, code: Hostile(exec, code),
    "open": lambda marker, code: Hostile(builtins.open, str(marker), "wb", 0),
    "map": lambda marker, code: Hostile(list, Hostile(map, eval, [code])),
    "getattr": lambda marker, code: Hostile(
        list, Hostile(map, Hostile(getattr, Hostile(__import__, "os"), "mkdir"), [str(marker)])
    ),
    "subprocess": lambda marker, code: Hostile(subprocess.check_call, ["touch", str(marker)]),
    "shutil": lambda marker, code: Hostile(shutil.copy, "/dev/null", str(marker)),
    "runpy": lambda marker, code: Hostile(runpy.run_path, str(marker.with_name("program"))),
    "Path.touch": lambda marker, code: Hostile(Path.touch, marker),
    "torch.save": lambda marker, code: Hostile(torch.save, {}, str(marker)),
    "in a state": lambda marker, code: HostileState(exec, code),
    "as a key": lambda marker, code: {("key", Hostile(exec, code)): 1},
    "in a list": lambda marker, code: [[1, [Hostile(exec, code)]]],
}


def as_pickle(value: object, protocol: int) -> bytes:
    return pickle.dumps(value, protocol=protocol)


def as_torch(value: object, *, older: bool) -> bytes:
    octets = io.BytesIO()
    torch.save(value, octets, _use_new_zipfile_serialization=not older)
    return octets.getvalue()


def as_zip(value: object, *, script: bool = False) -> bytes:
    """A torch file whose pickle torch did not write."""
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, protocol=2))
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/byteorder", "little")
        if script:
            archive.writestr("archive/constants.pkl", pickle.dumps(value, protocol=2))
            archive.writestr("archive/code/__torch__.py", "import os")
    return octets.getvalue()


def as_tar(value: object) -> bytes:
    """The format of torch 0.1."""
    octets = io.BytesIO()
    with tarfile.open(fileobj=octets, mode="w") as archive:
        for name in ("storages", "tensors", "pickle"):
            data = pickle.dumps(value, protocol=2)
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return octets.getvalue()


WRAPPINGS: dict[str, Callable[[object], bytes]] = {
    "pickle, protocol 0": lambda value: as_pickle(value, 0),
    "pickle, protocol 2": lambda value: as_pickle(value, 2),
    "pickle, protocol 4": lambda value: as_pickle(value, 4),
    "pickle, protocol 5": lambda value: as_pickle(value, 5),
    "torch, zip": lambda value: as_torch({"x": value}, older=False),
    "torch, older": lambda value: as_torch({"x": value}, older=True),
    "torch, beside tensors": lambda value: as_torch(
        OrderedDict([("x", torch.zeros(2)), ("y", value)]), older=False
    ),
    "forged zip": as_zip,
    "forged script": lambda value: as_zip(value, script=True),
    "tar": as_tar,
}

# Instructions of the pickle machine that Python's own pickler hardly writes.
INSTRUCTIONS: dict[str, Callable[[bytes], bytes]] = {
    "GLOBAL": lambda command: b"cposix\nsystem\n(S'" + command + b"'\ntR.",
    "INST": lambda command: b"(S'" + command + b"'\niposix\nsystem\n.",
    "OBJ": lambda command: b"(cposix\nsystem\nS'" + command + b"'\no.",
    "STACK_GLOBAL": lambda command: (
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c" + bytes([len(command)]) + command + b"\x85R."
    ),
    "BUILD": lambda command: (
        b"c__builtin__\nset\n(tR(dS'__setstate__'\ncposix\nsystem\nsbS'" + command + b"'\nb."
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    many_langs.write(model(MANY_LANGS), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that hostile code would make; `code` below would make it too."""
    marker = tmp_path / "marker"
    (tmp_path / "program").write_text(f"open({str(marker)!r}, 'w').close()", encoding="utf-8")
    return marker


def payload(name: str, marker: Path) -> object:
    return PAYLOADS[name](marker, marker.with_name("program").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_payloads_are_live(name: str, marker: Path) -> None:
    """Else the tests below would prove nothing."""
    loaded = pickle.loads(as_pickle(payload(name, marker), 4))
    if hasattr(loaded, "close"):
        loaded.close()
    assert marker.exists()


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_the_instructions_are_live(name: str, marker: Path) -> None:
    octets = INSTRUCTIONS[name](f"touch {marker}".encode())
    if name == "BUILD":  # a set takes no such state: refused by Python already
        with pytest.raises((AttributeError, TypeError)):
            pickle.loads(octets)
    else:
        pickle.loads(octets)
        assert marker.exists()


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_runs(name: str, wrapping: str, folder: Path, marker: Path) -> None:
    for file in (folder / "encoder.pkl", folder / "token_embedder.pkl"):
        file.write_bytes(WRAPPINGS[wrapping](payload(name, marker)))
        with refuses(file, "is not a readable torch state dict", "never executes a pickle"):
            elmokit.load(folder, device="cpu")
        assert not marker.exists()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_no_instruction_runs(name: str, zipped: bool, folder: Path, marker: Path) -> None:
    octets = INSTRUCTIONS[name](f"touch {marker}".encode())
    if zipped:
        forged = io.BytesIO(as_zip(None))
        with zipfile.ZipFile(forged) as old, zipfile.ZipFile(folder / "encoder.pkl", "w") as new:
            for entry in old.namelist():
                new.writestr(entry, octets if entry.endswith(".pkl") else old.read(entry))
    else:
        (folder / "encoder.pkl").write_bytes(octets)
    with refuses(folder / "encoder.pkl", "is not a readable torch state dict"):
        elmokit.load(folder, device="cpu")
    assert not marker.exists()


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_the_message_does_not_advise_to_run_it(wrapping: str, folder: Path, marker: Path) -> None:
    (folder / "encoder.pkl").write_bytes(WRAPPINGS[wrapping](payload("exec", marker)))
    with pytest.raises(elmokit.FormatError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elmokit.load(folder, device="cpu")
    assert str(caught.value).isprintable()
    assert "weights_only" not in str(caught.value)
    assert "two options" not in str(caught.value)


def test_no_warning_of_torch_comes_through(folder: Path, marker: Path) -> None:
    (folder / "encoder.pkl").write_bytes(WRAPPINGS["forged script"](payload("exec", marker)))
    with warnings.catch_warnings(record=True) as caught, pytest.raises(elmokit.FormatError):
        warnings.simplefilter("always")
        elmokit.load(folder, device="cpu")
    assert caught == []


def test_a_real_model_with_one_hostile_entry(folder: Path, marker: Path) -> None:
    state_dict = torch.load(folder / "encoder.pkl", weights_only=True)
    for older in (False, True):
        state_dict["extra"] = payload("exec", marker)
        (folder / "encoder.pkl").write_bytes(as_torch(state_dict, older=older))
        with refuses(folder / "encoder.pkl", "is not a readable torch state dict"):
            elmokit.load(folder, device="cpu")
        assert not marker.exists()


def test_the_environment_cannot_turn_the_refusal_off(
    folder: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    (folder / "encoder.pkl").write_bytes(as_torch({"x": payload("exec", marker)}, older=False))
    with refuses(folder / "encoder.pkl", "is not a readable torch state dict"):
        elmokit.load(folder, device="cpu")
    assert not marker.exists()


def test_a_pickle_inside_hdf5_stays_bytes(folder: Path, marker: Path) -> None:
    for name in ("weights.hdf5", "model.ckpt-1.index", "model.safetensors"):
        (folder / name).write_bytes(as_pickle(payload("exec", marker), 2))
        with pytest.raises(elmokit.FormatError):
            elmokit.load(folder / name, device="cpu")
    assert not marker.exists()
