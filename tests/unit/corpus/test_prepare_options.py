"""Options that cannot be, places that are taken, and what is told while the work goes on."""

from pathlib import Path
from typing import Any

import pytest

from elmokit.corpus.prepare import prepare
from elmokit.errors import InputError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "t"
    file.write_bytes(b"some text\nand more\n")
    return file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": -0.1}, r"held_out is -0\.1, expected a share from 0 to below 1"),
        ({"held_out": 1}, "held_out is 1,"),
        ({"held_out": float("nan")}, "held_out is nan"),
        ({"vocabulary_size": 3}, "vocabulary_size is 3, expected more than the 3 marks"),
        ({"min_count": 0}, "min_count is 0, expected at least 1"),
        ({"duplicates": "yes"}, "duplicates is 'yes', expected one of keep, report, drop"),
        ({"longest_line": 3}, "longest_line is 3, expected at least 16"),
        ({"processes": 0}, "processes is 0, expected at least 1"),
        ({"tokeniser": "spacy"}, "unknown tokeniser 'spacy': expected one of words, whitespace"),
        ({"field": "text"}, "field 'text' was given, but no file is read as JSON records"),
        ({"shard_tokens": 0}, "shard_tokens is 0, expected at least 1"),
    ],
)
def test_wrong_options(corpus: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(corpus, corpus.parent / "out", **options)
    assert list(corpus.parent.iterdir()) == [corpus]


def test_a_prepared_folder_is_replaced_only_if_allowed(corpus: Path) -> None:
    out = corpus.parent / "out"
    prepare(corpus, out, held_out=0, shard_tokens=3)
    assert (out / "train-00001.npy").exists()
    with pytest.raises(InputError, match=f"{out} exists already.*--overwrite"):
        prepare(corpus, out)
    prepare(corpus, out, held_out=0, overwrite=True)
    assert not (out / "train-00001.npy").exists()
    assert sorted(file.name for file in corpus.parent.iterdir()) == ["out", "t"]


def test_two_that_prepare_one_folder_at_the_same_time(corpus: Path) -> None:
    """The first to end has it; the other says so and leaves nothing."""
    out, other = corpus.parent / "out", corpus.parent / "other"
    other.write_bytes(b"other words\n")

    def meanwhile(stage: str, done: int, total: int) -> None:
        if stage == "writing" and not out.exists():
            prepare(other, out, held_out=0)

    with pytest.raises(InputError, match=f"{out} exists already.*--overwrite"):
        prepare(corpus, out, held_out=0, progress=meanwhile)
    words = (out / "words.txt").read_text(encoding="utf-8").split()
    assert sorted(words[3:]) == ["other", "words"]
    assert sorted(file.name for file in corpus.parent.iterdir()) == ["other", "out", "t"]


def test_an_empty_folder_may_be_filled(corpus: Path) -> None:
    (corpus.parent / "out").mkdir()
    prepare(corpus, corpus.parent / "out")
    assert (corpus.parent / "out" / "corpus.json").exists()


@pytest.mark.parametrize("name", ["words.txt", "notes.txt"])
def test_no_other_folder_is_replaced(corpus: Path, name: str) -> None:
    out = corpus.parent / "out"
    out.mkdir()
    (out / name).write_text("dear to someone")
    with pytest.raises(InputError, match="is no prepared corpus; it is not replaced"):
        prepare(corpus, out, overwrite=True)
    assert (out / name).read_text() == "dear to someone"


def test_a_prepared_folder_with_something_else_is_not_replaced(corpus: Path) -> None:
    out = corpus.parent / "out"
    prepare(corpus, out)
    (out / "notes.txt").write_text("dear to someone")
    with pytest.raises(InputError, match=r"notes\.txt"):
        prepare(corpus, out, overwrite=True)
    assert (out / "notes.txt").exists()


def test_a_failure_keeps_the_old_folder(corpus: Path) -> None:
    out = corpus.parent / "out"
    prepare(corpus, out)
    before = (out / "words.txt").read_bytes()
    corpus.write_bytes(b"\xff\n")
    with pytest.raises(InputError):
        prepare(corpus, out, overwrite=True)
    assert (out / "words.txt").read_bytes() == before
    assert sorted(file.name for file in corpus.parent.iterdir()) == ["out", "t"]


def test_a_file_is_no_folder(corpus: Path) -> None:
    with pytest.raises(InputError, match="is a file; choose another place"):
        prepare(corpus, corpus, overwrite=True)
    with pytest.raises(InputError, match="nowhere is not a folder; create it first"):
        prepare(corpus, corpus.parent / "nowhere" / "out")


def test_preparing_a_folder_into_itself_again(corpus: Path) -> None:
    """What was prepared before is no text."""
    folder = corpus.parent
    first = prepare(folder, folder / "out", held_out=0)
    second = prepare(folder, folder / "out", held_out=0, overwrite=True)
    assert first.facts == second.facts


def test_progress_is_told_by_stages(corpus: Path) -> None:
    told: list[tuple[str, int, int]] = []
    prepare(
        corpus,
        corpus.parent / "out",
        progress=lambda stage, done, total: told.append((stage, done, total)),
        block_bytes=1,
    )
    size = corpus.stat().st_size
    assert told[0] == ("reading", 0, size)
    reading = [done for stage, done, _ in told if stage == "reading"]
    assert reading == sorted(reading)
    assert reading[-1] == size
    assert [stage for stage, _, _ in told if stage != "reading"] == [
        "merging",
        "merging",
        "writing",
        "writing",
    ]
    assert told[-1] == ("writing", 2, 2)


def test_an_error_in_the_progress_function_leaves_nothing(corpus: Path) -> None:
    def fail(stage: str, done: int, total: int) -> None:
        raise RuntimeError(stage)

    with pytest.raises(RuntimeError, match="reading"):
        prepare(corpus, corpus.parent / "out", progress=fail)
    assert list(corpus.parent.iterdir()) == [corpus]
