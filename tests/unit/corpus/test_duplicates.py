"""Sentences that occurred before."""

from pathlib import Path

import numpy as np
import pytest

from elmokit.corpus.duplicates import mark_duplicates
from elmokit.corpus.prepare import prepare
from elmokit.corpus.spill import SENTENCE, Spill
from unit.corpus.naive_prepare import read_prepared

TEXT = b"a b\nc\n\na  b\nc\nd\n\n c \n\ne\n"


@pytest.mark.parametrize(
    ("duplicates", "sentences", "facts"),
    [
        ("keep", ["a b", "c", "a b", "c", "d", "c", "e"], None),
        ("report", ["a b", "c", "a b", "c", "d", "c", "e"], {"sentences": 2, "dropped": False}),
        ("drop", ["a b", "c", "a b", "d", "e"], {"sentences": 2, "dropped": True}),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 1000])
def test_duplicates(
    tmp_path: Path,
    duplicates: str,
    sentences: list[str],
    facts: dict[str, object] | None,
    block_bytes: int,
) -> None:
    """They are compared as text: other spaces inside a line make another sentence."""
    (tmp_path / "t").write_bytes(TEXT)
    prepare(
        tmp_path / "t",
        tmp_path / "out",
        duplicates=duplicates,
        held_out=0,
        tokeniser="whitespace",
        block_bytes=block_bytes,
    )
    found = read_prepared(tmp_path / "out")
    assert found.sentences() == sentences
    assert found.facts["report"]["duplicates"] == facts
    if duplicates == "drop":
        assert found.documents["train"] == [0, 5, 10], "a document may lose its first sentence"
        assert found.counts == [5, 0, 0, 2, 2, 1, 1, 1]


def test_held_out_files_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\nb\na\n")
    (tmp_path / "v").write_bytes(b"a\na\n")
    prepare(tmp_path / "t", tmp_path / "out", valid=tmp_path / "v", duplicates="drop")
    found = read_prepared(tmp_path / "out")
    assert found.sentences("train") == ["a", "b"]
    assert found.sentences("valid") == ["a", "a"]


@pytest.mark.parametrize("bucket_bytes", [16, 500, 2**26])
def test_marks_do_not_depend_on_buckets(tmp_path: Path, bucket_bytes: int) -> None:
    chance = np.random.default_rng(0)
    hashes = chance.integers(0, 60, 100).astype(np.uint64) * np.uint64(2**57)
    spills = []
    for number, part in enumerate(np.array_split(hashes, 7)):
        records = np.zeros(len(part), SENTENCE)
        records["hash"] = part
        (tmp_path / str(number)).write_bytes(b"word\n" + records.tobytes())
        spills.append(
            Spill(
                tmp_path / str(number),
                types=1,
                words_bytes=5,
                sentences=len(part),
                tokens=0,
                ends_document=False,
            )
        )
    marks = mark_duplicates(spills, tmp_path, bucket_bytes=bucket_bytes)
    expected = [value in hashes[:number] for number, value in enumerate(hashes)]
    assert marks.tolist() == expected
