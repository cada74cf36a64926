"""The folder that `prepare` writes: its content, and that nothing but the text decides on it."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.corpus import workers
from elmokit.corpus.prepare import prepare
from elmokit.errors import InputError
from unit.corpus.naive_prepare import naive_prepare, read_prepared

TEXT = b"the cat sat\nthe dog sat\n\n  a cat \r\n"


def write(file: Path, content: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def digest(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def test_the_format_on_a_small_text(tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.txt", TEXT)
    report = prepare(corpus, tmp_path / "out", tokeniser="whitespace", held_out=0)
    found = read_prepared(tmp_path / "out")
    # By falling count, then by code points.
    assert found.words == ["<S>", "</S>", "<UNK>", "cat", "sat", "the", "a", "dog"]
    assert found.counts == [3, 0, 0, 2, 2, 2, 1, 1]
    assert found.streams == {"train": [0, 5, 3, 4, 0, 5, 7, 4, 0, 6, 3]}
    assert found.documents == {"train": [0, 8]}
    expected = {
        "tokens": 11,
        "words": 8,
        "sentences": 3,
        "documents": 2,
        "bytes": len(b"the cat sat\nthe dog sat\na cat\n"),
        "unknown_words": 0,
        "shards": [{"file": "train-00000.npy", "tokens": 11}],
    }
    assert found.facts["splits"] == {"train": expected}
    assert found.facts["format_version"] == 1
    assert found.facts["tokeniser"] == "whitespace"
    assert found.facts["types"] == found.facts["vocabulary_size"] == 8
    assert found.facts["report"] == {
        "files": 1,
        "input_bytes": len(TEXT),
        "lines": 4,
        "coverage": {"train": 1.0},
        "min_count": 1,
        "held_out": {"from": "none"},
        "duplicates": None,
        "problems": {},
    }
    assert report.facts == found.facts
    assert report.folder_bytes == sum(f.stat().st_size for f in (tmp_path / "out").iterdir())
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "corpus.json",
        "counts.npy",
        "manifest.json",
        "train-00000.npy",
        "train-documents.npy",
        "words.txt",
    ]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "out", corpus]


def test_the_manifest_lists_every_other_file(tmp_path: Path) -> None:
    prepare(write(tmp_path / "text.txt", TEXT), tmp_path / "out")
    listed = json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]
    digests = digest(tmp_path / "out")
    del digests["manifest.json"]
    assert {name: facts["sha256"] for name, facts in listed.items()} == digests
    for name, facts in listed.items():
        assert facts["size"] == (tmp_path / "out" / name).stat().st_size


def test_raw_text_is_cut_by_the_words_tokeniser(tmp_path: Path) -> None:
    prepare(write(tmp_path / "text.txt", b"I don't.\n"), tmp_path / "out", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.facts["tokeniser"] == "words"
    assert found.sentences() == ["I do n't ."]


def test_types_only_in_valid_come_last_with_count_zero(tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.txt", b"zebra zebra ant\n")
    valid = write(tmp_path / "valid.txt", b"ant bee apple\n\nzebra\n")
    prepare(corpus, tmp_path / "out", valid=valid, tokeniser="whitespace")
    found = read_prepared(tmp_path / "out")
    assert found.words[3:] == ["zebra", "ant", "apple", "bee"]
    assert found.counts[3:] == [2, 1, 0, 0]
    assert found.streams == {"train": [0, 3, 3, 4], "valid": [0, 4, 6, 5, 0, 3]}
    assert found.documents["valid"] == [0, 4]
    assert found.facts["vocabulary_size"] == 5
    assert found.facts["splits"]["valid"]["unknown_words"] == 2
    assert found.facts["report"]["coverage"] == {"train": 1.0, "valid": 0.5}
    assert found.facts["report"]["held_out"] == {"from": "files"}


@pytest.mark.parametrize(
    ("options", "size", "unknown"),
    [
        ({"vocabulary_size": 5}, 5, 4),
        ({"vocabulary_size": 4}, 4, 6),
        ({"min_count": 2}, 6, 2),
        ({"min_count": 3}, 3, 8),
        ({"min_count": 2, "vocabulary_size": 5}, 5, 4),
        ({"vocabulary_size": 1000}, 8, 0),
    ],
)
def test_the_vocabulary_is_cut(
    tmp_path: Path, options: dict[str, Any], size: int, unknown: int
) -> None:
    prepare(
        write(tmp_path / "text.txt", TEXT),
        tmp_path / "out",
        tokeniser="whitespace",
        held_out=0,
        **options,
    )
    found = read_prepared(tmp_path / "out")
    assert found.facts["vocabulary_size"] == size
    assert found.facts["types"] == 8, "rare words keep their characters"
    assert found.facts["splits"]["train"]["unknown_words"] == unknown


def test_marks_written_in_tokenised_text(tmp_path: Path) -> None:
    text = b"<S> a <UNK> b </S>\n<S> </S>\n\n</S>\n\nc\n"
    prepare(write(tmp_path / "t", text), tmp_path / "out", tokeniser="whitespace", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.sentences() == ["a <UNK> b", "c"]
    assert found.counts == [2, 0, 1, 1, 1, 1]
    assert found.documents["train"] == [0, 4]
    assert found.problems == {"mark": 5}
    assert found.facts["splits"]["train"]["unknown_words"] == 1
    examples = found.facts["report"]["problems"]["mark"]["examples"]
    assert examples[0] == f"{tmp_path / 't'}:1: <S> is written"
    assert examples[-1] == f"{tmp_path / 't'}:4: </S> is written"


def test_shards_end_at_sentence_ends(tmp_path: Path) -> None:
    text = b"a b\nc\nd e f g h i\nj\nk\n"
    prepare(
        write(tmp_path / "t", text),
        tmp_path / "out",
        tokeniser="whitespace",
        held_out=0,
        shard_tokens=5,
    )
    found = read_prepared(tmp_path / "out")
    assert [s["tokens"] for s in found.facts["splits"]["train"]["shards"]] == [5, 7, 4]
    assert found.sentences() == ["a b", "c", "d e f g h i", "j", "k"]
    for shard in found.facts["splits"]["train"]["shards"]:
        assert np.load(tmp_path / "out" / shard["file"], mmap_mode="r")[0] == 0


def test_wide_ids_when_there_are_many_types(tmp_path: Path) -> None:
    many = b" ".join(b"w%d" % number for number in range(2**16 - 3))
    for extra, dtype in ((b"", np.uint16), (b" more", np.uint32)):
        prepare(
            write(tmp_path / "t", many + extra),
            tmp_path / "out",
            tokeniser="whitespace",
            held_out=0,
            overwrite=True,
        )
        array = np.load(tmp_path / "out" / "train-00000.npy")
        assert array.dtype == dtype
        assert sorted(array[1:].tolist()) == list(range(3, len(array) + 2))


def test_bytes_do_not_depend_on_processes_or_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_ENOUGH_TASKS", 1)
    chance = random.Random(1)
    words = [f"w{number}" for number in range(300)] + ["<S>", "é", "한국어", "<UNK>", "x" * 1200]
    lines = []
    for _ in range(3000):
        line = " ".join(chance.choices(words, k=chance.randrange(12)))
        lines.append(line.encode())
    lines[77] += b"\xff"
    lines[1500] += b"\0"
    lines[2500] += b"\x01 end"
    lines[100] = b" ".join(lines[200:260])
    corpus = [
        write(tmp_path / "a.txt", b"\n".join(lines[:1000])),
        write(tmp_path / "b.txt", b"\n".join(lines[1000:])),
    ]
    folders = []
    for processes, block_bytes in ((1, 10_000), (2, 10_000), (5, 10_000), (1, 300), (1, 2**22)):
        folders.append(tmp_path / f"out-{processes}-{block_bytes}")
        report = prepare(
            corpus,
            folders[-1],
            tokeniser="whitespace",
            duplicates="drop",
            held_out=0.05,
            longest_line=2000,
            processes=processes,
            block_bytes=block_bytes,
        )
    assert set(report.facts["report"]["problems"]) == {
        "bad_utf8",
        "nul",
        "control_characters",
        "long_line",
        "long_word",
        "mark",
    }
    for folder in folders[1:]:
        assert digest(folder) == digest(folders[0])


WORDS = ["a", "b", "ab", "B", "é", "한국", "<UNK>", "<S>", "</S>", "\U0001f600", "﻿x"]
LINES = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    st.sampled_from(["", " ", "\t", " a", "a\r", "a　b", "\x85", "b\x1cb"]),
).map(str.encode)
BROKEN = st.sampled_from([b"\xff", b"a \xc3", b"a\0b", b"\xed\xa0\x80"])
TEXTS = st.lists(
    st.lists(st.one_of(LINES, LINES, LINES, BROKEN), max_size=25).map(b"\n".join),
    min_size=1,
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(
    texts=TEXTS,
    valid=st.one_of(st.just([]), TEXTS),
    share=st.sampled_from([0.0, 0.01, 0.3, 0.9]),
    drop=st.booleans(),
    tokeniser=st.sampled_from(["words", "whitespace"]),
    block_bytes=st.integers(1, 60),
)
def test_equals_the_naive_way(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[bytes],
    valid: list[bytes],
    share: float,
    drop: bool,
    tokeniser: str,
    block_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("naive")
    expected = naive_prepare(
        texts,
        valid=valid,
        tokeniser=tokeniser,
        share=0 if valid else share,
        drop_duplicates=drop,
    )

    def run() -> None:
        prepare(
            [write(folder / f"{number}.txt", text) for number, text in enumerate(texts)],
            folder / "out",
            valid=[write(folder / "v" / f"{n}.txt", text) for n, text in enumerate(valid)],
            held_out=None if valid else share,
            duplicates="drop" if drop else "keep",
            tokeniser=tokeniser,
            processes=1,
            block_bytes=block_bytes,
        )

    if not expected.streams["train"] or (valid and not expected.streams["valid"]):
        with pytest.raises(InputError, match="holds no words"):
            run()
        assert not (folder / "out").exists()
        return
    run()
    found = read_prepared(folder / "out")
    assert found.words == expected.words
    assert found.counts == expected.counts
    assert found.streams == {name: ids for name, ids in expected.streams.items() if ids}
    assert found.documents == {name: at for name, at in expected.documents.items() if at}
    for name, split in found.facts["splits"].items():
        assert split["bytes"] == expected.bytes[name]
    found_problems = {kind: count for kind, count in found.problems.items() if kind != "empty_file"}
    assert found_problems == {kind: n for kind, n in expected.problems.items() if n}
