"""Which files are read, and in which order."""

from pathlib import Path

import pytest

from elmokit.corpus.problems import Problems
from elmokit.corpus.sources import Source, find_sources
from elmokit.errors import InputError


def names(*paths: str, valid: tuple[str, ...] = (), field: str | None = None) -> list[str]:
    return [source.name for source in find(*paths, valid=valid, field=field)]


def find(*paths: str, valid: tuple[str, ...] = (), field: str | None = None) -> list[Source]:
    return find_sources(paths, valid, field=field, leave_out=Path("deep/out"), problems=Problems())


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "deep/b/z.txt", "deep/b.txt", "deep/out/words.txt", "c.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x\n")
    for name in (".hidden.txt", "deep/.hidden", "deep/.folder/a.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x\n")


def test_files_stay_in_the_order_in_which_they_are_named() -> None:
    assert names("b.txt", "-", "a.txt") == ["b.txt", "-", "a.txt"]


def test_a_folder_is_sorted_and_without_hidden_files_and_the_destination() -> None:
    assert names("deep") == ["deep/b/z.txt", "deep/b.txt"]


def test_patterns() -> None:
    assert names("*.txt") == ["a.txt", "b.txt"]
    assert names("**/*.txt") == [
        "a.txt",
        "b.txt",
        "deep/b.txt",
        "deep/b/z.txt",
        "deep/out/words.txt",
    ]
    assert names("dee?") == ["deep/b/z.txt", "deep/b.txt"]
    assert names(str(Path("*.txt").absolute())) == [
        str(Path(name).absolute()) for name in ("a.txt", "b.txt")
    ]


def test_a_name_with_brackets_is_a_name_first() -> None:
    Path("[1].txt").write_text("x\n")
    assert names("[1].txt") == ["[1].txt"]


def test_a_file_is_read_once() -> None:
    problems = Problems()
    found = find_sources(
        ["a.txt", "*.txt", "./a.txt"], [], field=None, leave_out=Path("out"), problems=problems
    )
    assert [source.name for source in found] == ["a.txt", "b.txt"]
    assert problems.counts == {"repeated_file": 2}


def test_held_out_files_come_last() -> None:
    found = find("a.txt", valid=("b.txt",))
    assert [(source.name, source.split) for source in found] == [
        ("a.txt", "train"),
        ("b.txt", "valid"),
    ]
    assert [source.size for source in found] == [2, 2]


def test_a_file_cannot_be_both() -> None:
    with pytest.raises(InputError, match=r"a\.txt is both corpus and held-out text"):
        find("*.txt", valid=("./a.txt",))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.txt", r"missing\.txt: no such file or folder"),
        ("*.gz", r"\*\.gz: the pattern fits no file"),
        ("empty", "empty: the folder holds no file"),
        ("a\0b", "no such file or folder"),
        ("n" * 5000, "no such file or folder"),
    ],
)
def test_nothing_to_read(name: str, message: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(InputError, match=message):
        find("a.txt", name)


def test_no_corpus_at_all() -> None:
    with pytest.raises(InputError, match="names no file"):
        find()


@pytest.mark.parametrize("name", ["r.jsonl", "r.NDJSON", "r.jsonl.gz", "r.ndjson.zst"])
def test_records_are_told_by_their_name(name: str) -> None:
    Path(name).write_text("{}\n")
    (source,) = find(name, field="text")
    assert source.is_records
    with pytest.raises(InputError, match=f"{name} holds JSON records; say in which field"):
        find(name)


def test_standard_input_is_records_if_there_is_a_field() -> None:
    assert find("-", field="text")[0].is_records
    assert not find("-")[0].is_records


def test_a_field_for_nothing() -> None:
    with pytest.raises(InputError, match="field 'text' was given, but no file is read as JSON"):
        find("a.txt", field="text")
