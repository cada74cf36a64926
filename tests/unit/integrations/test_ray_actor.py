"""What an actor does with a piece, without a cluster around it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from elmokit.embed.embed_shards import embed_shards
from elmokit.embed.load import load
from elmokit.embed.shard_folder import MANIFEST_FILE, shard_file
from elmokit.embed.text_pieces import TextPiece, cut_files
from elmokit.integrations.ray_actor import (
    MOST_ATTEMPTS,
    ActorSettings,
    ShardActor,
    packed,
)

ray = pytest.importorskip("ray")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text("".join(f"The cat sat on mat {n}.\n" for n in range(30)))
    return file


@pytest.fixture
def pieces(text: Path) -> list[TextPiece]:
    _, pieces = cut_files([text], piece_bytes=200)
    return pieces


@pytest.fixture
def actor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShardActor:
    """An actor whose model lies where Ray would keep it."""
    model = packed(load("tiny-untrained", device="cpu").checkpoint())
    for array in model[1].values():
        array.flags.writeable = False  # as Ray gives it
    monkeypatch.setattr(ray, "get", lambda _: model)
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST_FILE).touch()
    settings = ActorSettings(
        folder=str(out),
        device="cpu",
        dtype="float32",
        start="warm",
        threads=1,
        layers="average",
        tokenised=False,
        float16=False,
        batch_tokens=None,
    )
    return ShardActor("where it lies", settings)


def row_of(piece: TextPiece) -> dict[str, Any]:
    """Give a piece as Ray does, whose numbers are numpy's."""
    values = asdict(piece)
    return {
        name: np.int64(value) if isinstance(value, int) else value for name, value in values.items()
    }


def test_shards_equal_those_of_one_process(
    actor: ShardActor, pieces: list[TextPiece], text: Path, tmp_path: Path
) -> None:
    answers = [actor(row_of(piece)) for piece in pieces]
    alone = load("tiny-untrained", device="cpu")
    summary = embed_shards(alone, [text], tmp_path / "alone", shard_bytes=200)
    assert [answer["error"] for answer in answers] == [""] * len(pieces)
    assert sum(answer["tokens"] for answer in answers) == summary.tokens == 30 * 7
    found = pyarrow.parquet.read_table(tmp_path / "out").sort_by("id")
    assert found.equals(pyarrow.parquet.read_table(tmp_path / "alone").sort_by("id"))
    assert not list((tmp_path / "out").glob(".*"))


def test_a_shard_that_is_there_is_not_made_again(
    actor: ShardActor, pieces: list[TextPiece], tmp_path: Path
) -> None:
    first = actor(row_of(pieces[1]))
    made = shard_file(tmp_path / "out", pieces[1]).stat()
    assert actor(row_of(pieces[1])) == first
    assert shard_file(tmp_path / "out", pieces[1]).stat().st_mtime_ns == made.st_mtime_ns


def test_mistakes_come_back_as_rows(
    actor: ShardActor, pieces: list[TextPiece], text: Path, tmp_path: Path
) -> None:
    text.write_text("another text\n")
    answer = actor(row_of(pieces[1]))
    lines = f"lines {pieces[1].first_index + 1} to {pieces[1].first_index + pieces[1].lines}"
    assert "has 13 bytes here, expected" in answer["error"]
    assert f"({text}, {lines}, on " in answer["error"]
    (tmp_path / "out" / MANIFEST_FILE).unlink()
    assert "out is not there; every machine" in actor(row_of(pieces[0]))["error"]


def test_a_piece_that_ends_processes_is_given_up(
    actor: ShardActor, pieces: list[TextPiece], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies leaves its mark; what dies here is only the call."""

    class DeathError(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise DeathError

    with monkeypatch.context() as patch:
        patch.setattr("elmokit.embed.embed_pieces.embed_pieces", die)
        for _ in range(MOST_ATTEMPTS):
            with pytest.raises(DeathError):
                actor(row_of(pieces[0]))
    answer = actor(row_of(pieces[0]))
    assert f"died {MOST_ATTEMPTS} times, perhaps for lack of memory" in answer["error"]
    assert actor(row_of(pieces[1]))["error"] == ""
