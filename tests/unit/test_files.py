"""Files that are whole or not there, and reading them back."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import ElmoError, FormatError, InputError
from elmokit.files import (
    read_bytes,
    read_json,
    read_text,
    replacing_file,
    replacing_folder,
    sha256_of,
    write_json,
)


class Stopped(BaseException):
    """Not an `Exception`, like KeyboardInterrupt."""


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def old_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").write_bytes(b"old a")
    (folder / "b").write_bytes(b"old b")
    return folder


# One file.


def test_a_file_appears_when_done(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with replacing_file(file) as partial:
        assert partial.parent == tmp_path
        partial.write_bytes(b"new")
        assert not file.exists()
    assert tree(tmp_path) == {"file": b"new"}


def test_a_file_is_replaced_when_done(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with replacing_file(file) as partial:
        partial.write_bytes(b"new")
        assert file.read_bytes() == b"old"
    assert tree(tmp_path) == {"file": b"new"}


@pytest.mark.parametrize("kind", [ValueError, OSError, KeyboardInterrupt, Stopped])
@pytest.mark.parametrize("written", [False, True])
def test_a_file_that_failed_leaves_the_old(
    kind: type[BaseException], written: bool, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(kind, match="stop"), replacing_file(tmp_path / "file") as partial:
        if written:
            partial.write_bytes(b"new")
        raise kind("stop")
    assert tree(tmp_path) == {"file": b"old"}


def test_a_file_in_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with replacing_file(Path("file")) as partial:
        partial.write_bytes(b"new")
    assert tree(tmp_path) == {"file": b"new"}


def test_the_disk_fills_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"), replacing_file(tmp_path / "file") as partial:
        partial.write_bytes(b"new")
    assert tree(tmp_path) == {"file": b"old"}


# A folder.


def test_a_folder_appears_when_done(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with replacing_folder(folder, overwrite=False) as partial:
        assert partial.parent == tmp_path
        (partial / "a").write_bytes(b"new")
        assert not folder.exists()
    assert tree(tmp_path) == {"model": None, "model/a": b"new"}


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with replacing_folder(tmp_path / "model", overwrite=False) as partial:
        (partial / "a").write_bytes(b"new")
    assert tree(tmp_path) == {"model": None, "model/a": b"new"}


def test_what_is_there_stays_unless_asked(tmp_path: Path) -> None:
    folder = old_folder(tmp_path)
    before = tree(tmp_path)
    with (
        pytest.raises(InputError, match=f"{folder} exists already; .*overwrit"),
        replacing_folder(folder, overwrite=False),
    ):
        raise AssertionError("unreachable")
    assert tree(tmp_path) == before
    with (
        pytest.raises(InputError, match=f"{folder / 'a'} "),
        replacing_folder(folder / "a", overwrite=False),
    ):
        raise AssertionError("unreachable")
    assert tree(tmp_path) == before


def test_what_came_meanwhile_stays_unless_asked(tmp_path: Path) -> None:
    """Two processes fill a folder of one name: the first to end has it."""
    folder = tmp_path / "model"
    with (
        pytest.raises(InputError, match=f"{folder} exists already; .*overwrit"),
        replacing_folder(folder, overwrite=False) as late,
    ):
        (late / "a").write_bytes(b"late")
        with replacing_folder(folder, overwrite=False) as early:
            (early / "a").write_bytes(b"early")
    assert tree(tmp_path) == {"model": None, "model/a": b"early"}
    with replacing_folder(folder, overwrite=True) as late:
        (late / "a").write_bytes(b"late")
        with replacing_folder(folder, overwrite=True) as early:
            (early / "a").write_bytes(b"early again")
    assert tree(tmp_path) == {"model": None, "model/a": b"late"}


def test_overwriting_a_folder(tmp_path: Path) -> None:
    folder = old_folder(tmp_path)
    with replacing_folder(folder, overwrite=True) as partial:
        (partial / "c").write_bytes(b"new")
        assert (folder / "a").read_bytes() == b"old a"
    assert tree(tmp_path) == {"model": None, "model/c": b"new"}


def test_what_is_no_model_is_never_replaced(tmp_path: Path) -> None:
    """Else a slip of the hand could cost somebody all that is in a folder."""
    folder = old_folder(tmp_path)
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    patterns = ["a", "*.txt"]
    for place, problem in [
        (folder, "model holds 'b', which is no part of a model"),
        (tmp_path / "file", "file is a link or a file"),
        (tmp_path / "link", "link is a link or a file"),
        (tmp_path / "broken", "broken is a link or a file"),
        (tmp_path, "holds 'broken', which is no part of a model"),
    ]:
        with (
            pytest.raises(InputError, match=problem),
            replacing_folder(place, overwrite=True, replaceable=patterns),
        ):
            raise AssertionError("unreachable")
        assert tree(tmp_path) == before
    (folder / "b").rename(folder / "b.txt")
    with replacing_folder(folder, overwrite=True, replaceable=patterns) as partial:
        (partial / "c").write_bytes(b"new")
    assert sorted(path.name for path in folder.iterdir()) == ["c"]


def test_a_folder_within_is_never_replaced(tmp_path: Path) -> None:
    folder = old_folder(tmp_path)
    (folder / "below").mkdir()
    with (
        pytest.raises(InputError, match="holds 'below', which is no part of a model"),
        replacing_folder(folder, overwrite=True),
    ):
        raise AssertionError("unreachable")
    assert (folder / "below").is_dir()


@pytest.mark.parametrize("kind", [ValueError, OSError, KeyboardInterrupt, Stopped])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_failed_leaves_the_old(
    kind: type[BaseException], overwrite: bool, tmp_path: Path
) -> None:
    folder = old_folder(tmp_path) if overwrite else tmp_path / "model"
    before = tree(tmp_path)
    with pytest.raises(kind, match="stop"), replacing_folder(folder, overwrite=overwrite) as new:
        (new / "c").write_bytes(b"new")
        raise kind("stop")
    assert tree(tmp_path) == before


def test_a_folder_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    folder = old_folder(tmp_path)
    before = tree(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OSError, match="No space"),
        replacing_folder(folder, overwrite=True) as partial,
    ):
        (partial / "c").write_bytes(b"new")
    assert tree(tmp_path) == before


def test_the_old_folder_comes_back_if_the_new_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = old_folder(tmp_path)
    before = tree(tmp_path)
    rename = Path.rename

    def rename_but_the_new(self: Path, target: Any) -> Path:
        if Path(target) == folder and self.name.endswith(".partial"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_but_the_new)
    with pytest.raises((OSError, ElmoError)), replacing_folder(folder, overwrite=True) as partial:
        (partial / "c").write_bytes(b"new")
    assert tree(tmp_path) == before


def test_what_a_crash_left_beside_is_no_obstacle(tmp_path: Path) -> None:
    """Numbers of processes come back: in containers often the very same."""
    (tmp_path / f".model.{os.getpid()}.partial").mkdir()
    with replacing_folder(tmp_path / "model", overwrite=False) as partial:
        (partial / "a").write_bytes(b"new")
    assert (tmp_path / "model" / "a").read_bytes() == b"new"


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is a folder"), replacing_file(tmp_path / "folder"):
        raise AssertionError("unreachable")
    assert tree(tmp_path) == {"folder": None}


def test_a_name_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    with replacing_file(tmp_path / ("a" * 255)) as partial:
        partial.write_bytes(b"new")
    with replacing_folder(tmp_path / ("b" * 255), overwrite=False) as partial:
        (partial / "c").write_bytes(b"new")


# Where nothing can be written.


@pytest.mark.parametrize("parent", ["absent", "absent/below", "file"])
def test_no_parent_folder(parent: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    target = tmp_path / parent / "model"
    problem = f"{tmp_path / parent} is not a folder; create it first"
    with pytest.raises(InputError, match=problem), replacing_file(target):
        raise AssertionError("unreachable")
    with pytest.raises(InputError, match=problem), replacing_folder(target, overwrite=True):
        raise AssertionError("unreachable")
    assert tree(tmp_path) == {"file": b""}


def test_a_parent_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told from what `os.access` says, since an administrator may write anywhere."""
    asked: list[tuple[Path, int]] = []

    def access(path: Path, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(os, "access", access)
    problem = f"{tmp_path} cannot be written to; choose another place"
    with pytest.raises(InputError, match=problem), replacing_file(tmp_path / "model"):
        raise AssertionError("unreachable")
    with (
        pytest.raises(InputError, match=problem),
        replacing_folder(tmp_path / "model", overwrite=False),
    ):
        raise AssertionError("unreachable")
    assert asked == [(tmp_path, os.W_OK | os.X_OK)] * 2
    assert tree(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write anywhere")
def test_a_parent_that_is_read_only(tmp_path: Path) -> None:
    parent = tmp_path / "locked"
    parent.mkdir()
    parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with (
        pytest.raises(InputError, match="cannot be written to"),
        replacing_folder(parent / "model", overwrite=False),
    ):
        raise AssertionError("unreachable")
    parent.chmod(stat.S_IRWXU)


# Reading.


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    for read in (read_bytes, read_text, read_json, sha256_of):
        with pytest.raises(FormatError, match=r"absent: cannot be read \(No such file"):
            read(tmp_path / "absent")
        with pytest.raises(FormatError, match=r"cannot be read \(Is a directory"):
            read(tmp_path)


def test_text_keeps_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("a\r\nb\rc\u2028字\n".encode())
    assert read_text(tmp_path / "file") == "a\r\nb\rc\u2028字\n"


@pytest.mark.parametrize(
    ("octets", "position"), [(b"\xff", 0), (b"ab\xc3", 2), (b"a\xed\xa0\x80", 1)]
)
def test_text_that_is_none(octets: bytes, position: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(octets)
    with pytest.raises(FormatError, match=rf"file: is not UTF-8 text \(byte {position}\)"):
        read_text(tmp_path / "file")


@pytest.mark.parametrize(
    "text",
    ["", "{", "{]", '{"a": }', "[" * 100_000, '{"a":' * 100_000, "\ufeff{}", "9" * 5000, "nul"],
)
def test_json_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="file: is not valid JSON") as caught:
        read_json(tmp_path / "file")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "found"),
    [("[]", "list"), ("5", "int"), ('"a"', "str"), ("null", "NoneType"), ("NaN", "float")],
)
def test_json_that_is_no_object(text: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=f"wrong content: expected an object, found {found}"):
        read_json(tmp_path / "file")


def test_json_both_ways(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None, True], "größe": {"字": "\u2028"}}
    write_json(tmp_path / "file", value)
    assert read_json(tmp_path / "file") == value
    octets = (tmp_path / "file").read_bytes()
    assert octets.endswith(b"}\n")
    assert "größe".encode() in octets
    assert json.loads(octets) == value


def test_sha256(tmp_path: Path) -> None:
    for octets in (b"", b"abc", bytes(3_000_000)):
        (tmp_path / "file").write_bytes(octets)
        assert sha256_of(tmp_path / "file") == hashlib.sha256(octets).hexdigest()
