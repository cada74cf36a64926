"""Folders of shards: the rows of single files, made once, gone on with, never mixed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset
import pyarrow.parquet
import pytest

from elmokit.embed import embed_pieces
from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_file import embed_file
from elmokit.embed.embed_shards import embed_shards
from elmokit.embed.shard_folder import MANIFEST_FILE
from elmokit.embed.text_pieces import TextPiece, piece_lines
from elmokit.errors import FormatError, InputError

MakeElmo = Callable[..., Elmo]

FIRST = "\ufeffThe cat sat.\r\n\n" + "".join(f"On mat {n} it lay, dear.\n" for n in range(40))
SECOND = "No\rline ends here\n\n\n" + "".join(f"The {n} cats sat on.\n" for n in range(25)) + "end"


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "first.txt", tmp_path / "second.txt", tmp_path / "empty.txt"]
    for file, text in zip(files, (FIRST, SECOND, ""), strict=True):
        file.write_bytes(text.encode())
    return files


@pytest.fixture
def elmo(make_elmo: MakeElmo) -> Iterator[Elmo]:
    elmo = make_elmo()
    yield elmo
    if elmo._workers is not None:
        elmo._workers.close()


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder).sort_by("id").to_pylist()
    return rows


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    facts = ((file.name, file.stat()) for file in folder.glob("shard-*"))
    return {name: (fact.st_ino, fact.st_mtime_ns) for name, fact in facts}


@pytest.mark.parametrize(
    "options",
    [{}, {"layers": "all", "float16": True}, {"layers": [0.5, 0, 1], "tokenised": True}],
    ids=["plain", "all layers in half", "weights, tokenised"],
)
def test_shards_have_the_rows_of_single_files(
    elmo: Elmo, texts: list[Path], tmp_path: Path, options: dict[str, Any]
) -> None:
    summary = embed_shards(elmo, texts, tmp_path / "out", shard_bytes=200, **options)
    rows = rows_of(tmp_path / "out")
    expected = []
    for file in texts:
        embed_file(elmo, file, tmp_path / "one.parquet", **options)
        single = pyarrow.parquet.read_table(tmp_path / "one.parquet")
        if len(single):
            first = pyarrow.parquet.read_schema(tmp_path / "out" / "shard-000000.parquet")
            assert first.names == ["id", "source", *single.schema.names]
            assert [first.field(name) for name in single.schema.names] == list(single.schema)
        expected += [{"source": str(file), **row} for row in single.to_pylist()]
    # The same sentences in other batches give the same vectors, to the bit.
    assert [{**row, "id": None} for row in rows] == [{"id": None, **row} for row in expected]
    assert [row["id"] for row in rows] == list(range(len(expected)))
    assert summary.sentences == len(rows) == 42 + 29
    assert summary.tokens == sum(len(row["tokens"]) for row in rows)
    assert summary.shards == summary.made == len(stamps(tmp_path / "out")) > 5


def test_shards_sort_as_the_text_goes(elmo: Elmo, texts: list[Path], tmp_path: Path) -> None:
    embed_shards(elmo, texts, tmp_path / "out", shard_bytes=100)
    ids = []
    for file in sorted((tmp_path / "out").glob("shard-*.parquet")):
        ids += pyarrow.parquet.read_table(file).column("id").to_pylist()
    assert ids == list(range(71))
    dataset = pyarrow.dataset.dataset(tmp_path / "out")  # which passes the manifest over
    assert dataset.count_rows() == 71


def test_processes_share_the_work(elmo: Elmo, texts: list[Path], tmp_path: Path) -> None:
    embed_shards(elmo, texts, tmp_path / "alone", shard_bytes=300)
    embed_shards(elmo, texts, tmp_path / "shared", shard_bytes=300, workers=2)
    for one, other in zip(rows_of(tmp_path / "alone"), rows_of(tmp_path / "shared"), strict=True):
        vectors, others = np.array(one.pop("vectors")), np.array(other.pop("vectors"))
        assert one == other
        np.testing.assert_allclose(others, vectors, atol=1e-6)


def test_a_second_run_does_what_is_missing(elmo: Elmo, texts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = embed_shards(elmo, texts, out, shard_bytes=200)
    whole = rows_of(out)
    (out / "shard-000001.parquet").unlink()
    damaged = out / "shard-000003.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (out / "shard-000004.parquet").write_bytes((out / "shard-000005.parquet").read_bytes())
    for left in (".shard-000001.parquet.abcd.partial", ".shard-000001.attempts"):
        (out / left).write_bytes(b"left by a process that was killed")
    before = stamps(out)
    second = embed_shards(elmo, texts, out, shard_bytes=200)
    assert second.made == 3
    assert (second.shards, second.tokens) == (first.shards, first.tokens)
    after = stamps(out)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {f"shard-00000{number}.parquet" for number in (1, 3, 4)}
    assert rows_of(out) == whole
    assert {file.name for file in out.iterdir()} == {*after, MANIFEST_FILE}
    manifest = (out / MANIFEST_FILE).stat()
    assert embed_shards(elmo, texts, out, shard_bytes=200).made == 0
    assert (out / MANIFEST_FILE).stat().st_mtime_ns == manifest.st_mtime_ns


def test_what_is_left_behind_while_others_go_on_is_gone_at_the_end(
    elmo: Elmo, texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def with_a_loss(*arguments: Any, **options: Any) -> None:
        embed_pieces.embed_pieces(*arguments, **options)
        for left in (".shard-000001.parquet.abcd.partial", ".shard-000001.attempts"):
            (out / left).write_bytes(b"left by a machine that was lost")

    monkeypatch.setattr("elmokit.embed.embed_shards.embed_pieces", with_a_loss)
    embed_shards(elmo, texts, out, shard_bytes=200)
    assert {file.name for file in out.iterdir()} == {*stamps(out), MANIFEST_FILE}


def test_a_run_that_breaks_off_is_gone_on_with(
    elmo: Elmo, texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(piece: TextPiece) -> list[tuple[str, int]]:
        if piece.number == 7:
            raise InputError("the disk is gone")
        return piece_lines(piece)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(embed_pieces, "piece_lines", read)
        with pytest.raises(InputError, match="the disk is gone"):
            embed_shards(elmo, texts, out, shard_bytes=200, batch_tokens=8)
    there = stamps(out)
    assert 0 < len(there) < 8
    assert {file.name for file in out.iterdir()} == {*there, MANIFEST_FILE}
    assert json.loads((out / MANIFEST_FILE).read_text())["complete"] is False
    again = embed_shards(elmo, texts, out, shard_bytes=200)
    assert again.made == again.shards - len(there)
    assert stamps(out).items() >= there.items()
    assert [row["id"] for row in rows_of(out)] == list(range(71))
    manifest = json.loads((out / MANIFEST_FILE).read_text())
    assert manifest["complete"] is True
    assert (manifest["sentences"], manifest["tokens"]) == (71, again.tokens)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"layers": "top"}, "layers was 'average', is 'top'"),
        ({"float16": True}, "float16 was False, is True"),
        ({"tokenised": True}, "tokenised was False, is True"),
        ({"shard_bytes": 201}, "shard_bytes was 200, is 201"),
    ],
)
def test_other_settings_are_not_mixed(
    elmo: Elmo, texts: list[Path], tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    embed_shards(elmo, texts, tmp_path / "out", shard_bytes=200)
    before = stamps(tmp_path / "out")
    with pytest.raises(InputError, match=told):
        embed_shards(elmo, texts, tmp_path / "out", **{"shard_bytes": 200, **options})
    assert stamps(tmp_path / "out") == before


def test_another_model_is_not_mixed(
    make_elmo: MakeElmo, elmo: Elmo, texts: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    embed_shards(elmo, texts, out)
    with pytest.raises(InputError, match="dtype was 'float32', is 'bfloat16'"):
        embed_shards(make_elmo(dtype="bfloat16"), texts, out)
    with pytest.raises(InputError, match="start was 'warm', is 'zeros'"):
        embed_shards(make_elmo(start="zeros"), texts, out)
    other = make_elmo()
    next(other.bilm.parameters()).data.add_(1)
    with pytest.raises(InputError, match=r"model .* is not what it was then"):
        embed_shards(other, texts, out)
    other.metadata = {**other.metadata, "name": "another"}
    with pytest.raises(InputError, match=r"model was '.*', is 'another'"):
        embed_shards(other, texts, out)
    assert embed_shards(make_elmo(), texts, out).made == 0


def test_changed_files_are_not_mixed(elmo: Elmo, texts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    embed_shards(elmo, texts, out)
    with pytest.raises(InputError, match=r"empty.txt is missing among the files"):
        embed_shards(elmo, texts[:2], out)
    with pytest.raises(InputError, match="another order"):
        embed_shards(elmo, texts[::-1], out)
    new = tmp_path / "new.txt"
    new.write_text("new\n")
    with pytest.raises(InputError, match=r"new.txt was not among the files"):
        embed_shards(elmo, [*texts, new], out)
    texts[0].write_bytes(FIRST.replace("cat", "dog", 1).encode())
    with pytest.raises(InputError, match=r"first.txt has another content"):
        embed_shards(elmo, texts, out)
    texts[0].write_bytes(FIRST.encode() + b"more\n")
    size = len(FIRST.encode())
    with pytest.raises(InputError, match=rf"first.txt had {size} bytes, has {size + 5}"):
        embed_shards(elmo, texts, out)
    texts[0].write_bytes(FIRST.encode())
    assert embed_shards(elmo, texts, out).made == 0


def test_a_folder_without_shards_binds_nobody(
    elmo: Elmo, texts: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    embed_shards(elmo, texts, out, layers="top")
    for shard in out.glob("shard-*"):
        shard.unlink()
    assert embed_shards(elmo, texts, out, layers="average").shards == 2


def test_other_folders_are_left_alone(elmo: Elmo, texts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds 'empty.txt' and no shards"):
        embed_shards(elmo, texts, tmp_path)
    with pytest.raises(InputError, match=r"first.txt is a file, expected a folder"):
        embed_shards(elmo, texts, texts[0])
    with pytest.raises(InputError, match="cannot be made"):
        embed_shards(elmo, texts, texts[0] / "below")
    out = tmp_path / "out"
    embed_shards(elmo, texts, out)
    (out / MANIFEST_FILE).write_text('{"format": "of tomorrow", "version": 2}')
    with pytest.raises(FormatError, match=r"_manifest.json.*'of tomorrow', version 2"):
        embed_shards(elmo, texts, out)
    (out / MANIFEST_FILE).write_text('{"format": "elmokit shards", "version": 1}')
    with pytest.raises(FormatError, match=r"_manifest.json: damaged"):
        embed_shards(elmo, texts, out)


def test_what_no_shard_can_be_made_with(
    make_elmo: MakeElmo, elmo: Elmo, texts: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"start: .*'carry'"):
        embed_shards(make_elmo(start="carry"), texts, tmp_path / "out")
    with pytest.raises(InputError, match="layers 0 to 2, found 7"):
        embed_shards(elmo, texts, tmp_path / "out", layers=7)
    with pytest.raises(InputError, match=r"batch_tokens: .*found 0"):
        embed_shards(elmo, texts, tmp_path / "out", batch_tokens=0)
    assert not (tmp_path / "out").exists()


def test_one_process_at_a_time(
    elmo: Elmo, texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    told = []

    def second_run(piece: TextPiece) -> list[tuple[str, int]]:
        with pytest.raises(InputError, match="another process is writing shards") as refused:
            embed_shards(elmo, texts, tmp_path / "out")
        told.append(str(refused.value))
        return piece_lines(piece)

    with monkeypatch.context() as patch:
        patch.setattr(embed_pieces, "piece_lines", second_run)
        embed_shards(elmo, texts, tmp_path / "out")
    assert len(told) == 2
    assert embed_shards(elmo, texts, tmp_path / "out").made == 0
