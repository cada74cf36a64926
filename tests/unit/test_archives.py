"""Compressed files: read whole, and found out where they are broken."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from elmokit.archives import (
    DamagedArchiveError,
    TruncatedArchiveError,
    compression_of,
    decompressed,
    unpacked,
)
from elmokit.corpus.prepare import prepare
from elmokit.errors import InputError, MissingExtraError
from unit.corpus.naive_prepare import read_prepared
from unit.corpus.packed_text import COMPRESSIONS, TEXT, each_compression


def content(name: str, data: bytes) -> bytes:
    return b"".join(decompressed(io.BytesIO(data), name))


@each_compression
def test_content_comes_back(name: str) -> None:
    data = COMPRESSIONS[name][1](TEXT)
    assert compression_of(data[:16]) == name
    assert content(name, data) == TEXT


@each_compression
def test_joined_archives_are_one(name: str) -> None:
    compress = COMPRESSIONS[name][1]
    assert content(name, compress(TEXT) + compress(b"") + compress(b"more\n")) == TEXT + b"more\n"


@each_compression
def test_padding_is_no_text(name: str) -> None:
    compress = COMPRESSIONS[name][1]
    assert content(name, compress(b"a\n") + bytes(20_000) + compress(b"b\n")) == b"a\nb\n"


@each_compression
@pytest.mark.parametrize("missing", [1, 10, 5000])
def test_truncation_is_found(name: str, missing: int) -> None:
    with pytest.raises(TruncatedArchiveError, match=f"the {name} archive breaks off"):
        content(name, COMPRESSIONS[name][1](TEXT)[:-missing])


@each_compression
def test_damage_is_found(name: str) -> None:
    data = bytearray(COMPRESSIONS[name][1](TEXT))
    middle = len(data) // 2
    data[middle : middle + 50] = bytes(50)
    with pytest.raises((DamagedArchiveError, TruncatedArchiveError)):
        content(name, bytes(data))


@each_compression
def test_what_follows_an_archive_is_not_passed_over(name: str) -> None:
    with pytest.raises(DamagedArchiveError, match=f"the {name} archive is damaged"):
        content(name, COMPRESSIONS[name][1](b"a\n") + b"rubbish that is long enough to be seen")


@pytest.mark.parametrize("size", [1, 100, 10**6])
@each_compression
def test_a_stream_of_the_content(tmp_path: Path, name: str, size: int) -> None:
    (tmp_path / "packed").write_bytes(COMPRESSIONS[name][1](TEXT))
    with (tmp_path / "packed").open("rb") as stream:
        content = unpacked(stream, "packed")
        assert content.read(size) == TEXT[:size]
        assert [*content] == TEXT[size:].splitlines(keepends=True)
        assert content.read() == b""


def test_a_stream_of_plain_text_is_itself(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_bytes(TEXT)
    with (tmp_path / "plain.txt").open("rb") as stream:
        assert unpacked(stream, "plain.txt") is stream
        assert stream.read() == TEXT


def test_plain_text_is_no_archive() -> None:
    assert compression_of(b"BZ h") is None
    assert compression_of(b"") is None


@each_compression
@pytest.mark.parametrize("named", [True, False])
def test_preparing(tmp_path: Path, name: str, named: bool) -> None:
    """What a file is decides, whatever its name says."""
    suffix, compress = COMPRESSIONS[name]
    (tmp_path / "plain").write_bytes(TEXT)
    packed = tmp_path / f"text.txt{suffix if named else ''}"
    packed.write_bytes(compress(TEXT))
    prepare(tmp_path / "plain", tmp_path / "expected", held_out=0)
    prepare(packed, tmp_path / "found", held_out=0)
    for file in ("words.txt", "counts.npy", "train-00000.npy", "train-documents.npy"):
        assert (tmp_path / "found" / file).read_bytes() == (
            tmp_path / "expected" / file
        ).read_bytes()
    assert not read_prepared(tmp_path / "found").problems


@each_compression
def test_a_truncated_file_is_read_up_to_the_last_whole_line(tmp_path: Path, name: str) -> None:
    suffix, compress = COMPRESSIONS[name]
    file = tmp_path / f"text{suffix}"
    # bzip2 gives nothing of a block that is not whole, so the first archive is.
    file.write_bytes(compress(b"whole\nhal") + compress(TEXT)[:20])
    prepare(file, tmp_path / "out", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.sentences()[0] == "whole"
    assert all(line == "whole" or line.startswith("hal") for line in found.sentences())
    assert found.problems == {"truncated_archive": 1}
    (example,) = found.facts["report"]["problems"]["truncated_archive"]["examples"]
    assert example == f"{file}: the {name} archive breaks off"
    with pytest.raises(InputError, match=rf"text{suffix}: the {name} archive breaks off.*strict"):
        prepare(file, tmp_path / "other", strict=True)
    assert not (tmp_path / "other").exists()


def test_a_name_that_promises_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_bytes(b"good\n")
    (tmp_path / "text.gz").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    corpus = [tmp_path / "good.txt", tmp_path / "text.gz"]
    prepare(corpus, tmp_path / "out", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.problems == {"damaged_archive": 1}
    (example,) = found.facts["report"]["problems"]["damaged_archive"]["examples"]
    assert "is no gzip archive but a Git LFS pointer" in example
    with pytest.raises(InputError, match="Git LFS pointer"):
        prepare(corpus, tmp_path / "other", strict=True)


def test_an_archive_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_bytes(b"good\n")
    (tmp_path / "text.gz").write_bytes(gzip.compress(b""))
    prepare([tmp_path / "good.txt", tmp_path / "text.gz"], tmp_path / "out", held_out=0)
    assert read_prepared(tmp_path / "out").problems == {"empty_file": 1}


def test_zstd_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "text.zst").write_bytes(COMPRESSIONS["zstd"][1](b"a\n"))
    with pytest.raises(MissingExtraError, match=r"elmokit\[zst\]"):
        prepare(tmp_path / "text.zst", tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["text.zst"]
