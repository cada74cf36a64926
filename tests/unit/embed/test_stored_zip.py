"""Archives without compression, read back by the standard library."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from elmokit.embed import stored_zip
from elmokit.embed.stored_zip import StoredZip

MEMBERS = [("0.npy", (b"abc", b"defg")), ("1.npy", ()), ("tokens.npy", (b"x" * 100_000,))]


def write(path: Path, members: Sequence[tuple[str, Sequence[bytes]]]) -> None:
    archive = StoredZip(path)
    for name, parts in members:
        archive.add(name, parts)
    archive.finish()
    archive.close()


def check(path: Path, members: Sequence[tuple[str, Sequence[bytes]]]) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [name for name, _ in members]
        for name, parts in members:
            assert archive.read(name) == b"".join(parts)
            facts = archive.getinfo(name)
            assert facts.date_time == (1980, 1, 1, 0, 0, 0)
            assert facts.external_attr >> 16 == 0o600
            assert facts.compress_type == zipfile.ZIP_STORED


def test_members_come_back(tmp_path: Path) -> None:
    write(tmp_path / "a.zip", MEMBERS)
    check(tmp_path / "a.zip", MEMBERS)
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_no_members(tmp_path: Path) -> None:
    write(tmp_path / "a.zip", [])
    check(tmp_path / "a.zip", [])


@pytest.mark.parametrize("count", [0xFFFE, 0xFFFF, 0x10001])
def test_more_members_than_two_bytes_can_count(tmp_path: Path, count: int) -> None:
    write(tmp_path / "a.zip", [(str(number), (b"x",)) for number in range(count)])
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert len(archive.namelist()) == count
        assert archive.read(str(count - 1)) == b"x"


@pytest.mark.parametrize("wide", [0, 1, 40, 60_000])
def test_values_that_need_wide_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    write(tmp_path / "narrow.zip", MEMBERS)
    monkeypatch.setattr(stored_zip, "WIDE", wide)
    write(tmp_path / "wide.zip", MEMBERS)
    check(tmp_path / "wide.zip", MEMBERS)
    assert (tmp_path / "wide.zip").stat().st_size > (tmp_path / "narrow.zip").stat().st_size


@pytest.mark.slow
def test_more_than_four_gigabytes(tmp_path: Path) -> None:
    block = bytes(2**26)
    archive = StoredZip(tmp_path / "a.zip")
    archive.add("large", [block] * 65)
    archive.add("behind", [b"abc"])
    archive.finish()
    archive.close()
    with zipfile.ZipFile(tmp_path / "a.zip") as found:
        assert found.getinfo("large").file_size == 65 * 2**26
        assert found.read("behind") == b"abc"
        assert found.testzip() is None
