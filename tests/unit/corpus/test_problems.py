"""Text that is not as it should be: counted and shown, or an error; never silent."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.corpus import blocks
from elmokit.corpus.prepare import prepare
from elmokit.corpus.problems import EXAMPLES, KINDS, Problem, Problems
from elmokit.errors import InputError
from elmokit.files import open_input
from unit.corpus.naive_prepare import Prepared, read_prepared


def prepared(tmp_path: Path, name: str, content: bytes, **options: Any) -> Prepared:
    """Prepare a file beside a good one; with strict=True the same must be an error."""
    good, bad = tmp_path / "good.txt", tmp_path / name
    good.write_bytes(b"good text\n")
    bad.write_bytes(content)
    options = {"tokeniser": "whitespace", "held_out": 0, **options}
    prepare([good, bad], tmp_path / "out", **options)
    found = read_prepared(tmp_path / "out")
    assert found.sentences()[0] == "good text"
    with pytest.raises(InputError, match=r"strict=True, --strict in the shell") as raised:
        prepare([good, bad], tmp_path / "other", strict=True, **options)
    (first, *_) = next(iter(found.facts["report"]["problems"].values()))["examples"]
    assert str(raised.value).startswith(first)
    assert {file.name for file in tmp_path.iterdir()} == {"good.txt", "out", name}
    return found


def examples(found: Prepared, kind: str) -> list[str]:
    shown: list[str] = found.facts["report"]["problems"][kind]["examples"]
    return shown


@pytest.mark.parametrize(
    ("kind", "line", "kept", "shown"),
    [
        ("bad_utf8", b"caf\xe9 noir", None, r"byte 3 is 0xe9: b'caf\xe9 noir'"),
        ("bad_utf8", b"\xed\xa0\x80", None, r"byte 0 is 0xed"),
        ("bad_utf8", b"\xc0\xaf", None, r"byte 0 is 0xc0"),
        ("nul", b"a\0b", None, r"a NUL byte: 'a\x00b'"),
        ("control_characters", b"a\x01b\x7f", "a b", r"'a\x01b\x7f'"),
        ("control_characters", "it\x92s".encode(), "it s", r"'it\x92s'"),
        ("long_word", b"w" * 1001, "w" * 1000, "a word of 1,001 bytes: b'www"),
        ("long_word", "é".encode() * 501, "é" * 500, "a word of 1,002 bytes"),
        ("mark", b"<S> a b </S>", "a b", "<S> is written"),
    ],
)
def test_a_broken_line(
    tmp_path: Path, kind: str, line: bytes, kept: str | None, shown: str
) -> None:
    found = prepared(tmp_path, "bad.txt", b"one\n" + line + b"\nthree\n")
    expected = ["good text", "one", *([] if kept is None else [kept]), "three"]
    assert found.sentences() == expected
    assert found.problems == {kind: 2 if kind == "mark" else 1}
    assert examples(found, kind)[0].startswith(f"{tmp_path / 'bad.txt'}:2: {shown}")


def test_white_space_of_any_kind_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes("a\tb\x0bc\x0cd\x1ce\x85f　g\r\n".encode())
    prepare(tmp_path / "t", tmp_path / "out", held_out=0, strict=True, tokeniser="whitespace")
    assert read_prepared(tmp_path / "out").sentences() == ["a b c d e f g"]


def test_a_broken_line_does_not_end_a_document(tmp_path: Path) -> None:
    found = prepared(tmp_path, "bad.txt", b"one\n\xff\ntwo\n\n\0\nthree\n")
    assert found.documents["train"] == [0, 3, 7]
    assert [found.streams["train"][start] for start in found.documents["train"]] == [0, 0, 0]


def test_utf_16_is_named(tmp_path: Path) -> None:
    found = prepared(tmp_path, "bad.txt", "windows\ntext\n".encode("utf-16"))
    assert "looks like UTF-16; convert it to UTF-8" in examples(found, "bad_utf8")[0]
    assert found.sentences() == ["good text"]


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes("﻿one\ntwo\n".encode())
    prepare(tmp_path / "t", tmp_path / "out", held_out=0, strict=True)
    assert read_prepared(tmp_path / "out").sentences() == ["one", "two"]


def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    content = b"one\n" + b"word word\t" * 1_000_000 + b"\nthree\n"
    found = prepared(tmp_path, "bad.txt", content, processes=1)
    assert found.problems == {"long_line": 1}
    (example,) = examples(found, "long_line")
    assert example.startswith(f"{tmp_path / 'bad.txt'}:2: more than 1,000,000 bytes")
    words = found.facts["splits"]["train"]["words"]
    assert words == 2 + 1 + 2_000_000 + 1
    assert found.facts["splits"]["train"]["documents"] == 2
    assert max(map(len, found.sentences())) <= 1_000_000


def test_only_the_first_are_shown(tmp_path: Path) -> None:
    found = prepared(tmp_path, "bad.txt", b"\xff\n" * 100, block_bytes=10)
    assert found.problems == {"bad_utf8": 100}
    assert [line.split(":")[1] for line in examples(found, "bad_utf8")] == list("12345")
    assert EXAMPLES == 5


def test_an_empty_file(tmp_path: Path) -> None:
    found = prepared(tmp_path, "bad.txt", b"")
    assert examples(found, "empty_file") == [f"{tmp_path / 'bad.txt'}: is empty"]


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"\x93NUMPY", b"%PDF-1.4"])
def test_a_file_that_is_no_text(tmp_path: Path, head: bytes) -> None:
    found = prepared(tmp_path, "bad.txt", head + b"\nand more\n")
    assert found.sentences() == ["good text"]
    assert found.problems == {"unreadable_file": 1}


def vanish(file: Path) -> None:
    file.unlink()


def grow(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more\n")


def shrink(file: Path) -> None:
    file.write_bytes(b"x\n")


@pytest.mark.parametrize(
    ("change", "kind"),
    [(vanish, "vanished_file"), (grow, "changed_file"), (shrink, "changed_file")],
)
def test_a_file_that_does_not_stay_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], kind: str
) -> None:
    """The file changes between the listing and the reading."""
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_bytes(b"good text\n")

    def opened_later(name: str) -> Any:
        if name == str(bad):
            change(bad)
        return open_input(name)

    monkeypatch.setattr(blocks, "open_input", opened_later)
    bad.write_bytes(b"bad text\n")
    prepare([good, bad], tmp_path / "out", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.problems == {kind: 1}
    assert str(bad) in examples(found, kind)[0]
    bad.write_bytes(b"bad text\n")
    with pytest.raises(InputError, match=f"{bad}.*strict"):
        prepare([good, bad], tmp_path / "other", strict=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"")
    (tmp_path / "bad.txt").chmod(0)
    found = prepared(tmp_path, "bad.txt", b"")
    assert found.problems == {"unreadable_file": 1}


def test_a_file_named_twice(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_bytes(b"a\n")
    prepare([file, file], tmp_path / "out", held_out=0)
    found = read_prepared(tmp_path / "out")
    assert found.sentences() == ["a"]
    assert found.problems == {"repeated_file": 1}
    with pytest.raises(InputError, match="is named more than once"):
        prepare([file, file], tmp_path / "other", strict=True)


RECORDS = [
    {"text": "one two\nthree\n\n four "},
    {"text": "five", "other": 1},
    {"text": ""},
    {"text": "six\r\nseven"},
]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_records(tmp_path: Path, suffix: str) -> None:
    content = "\n\n".join(json.dumps(record) for record in RECORDS).encode()
    file = tmp_path / f"r.jsonl{suffix}"
    file.write_bytes(gzip.compress(content) if suffix else content)
    for block_bytes in (1, 1000):
        prepare(
            file,
            tmp_path / "out",
            field="text",
            held_out=0,
            strict=True,
            overwrite=True,
            block_bytes=block_bytes,
        )
        found = read_prepared(tmp_path / "out")
        assert found.sentences() == ["one two", "three", "four", "five", "six", "seven"]
        assert found.documents["train"] == [0, 7, 9]


@pytest.mark.parametrize(
    ("kind", "record", "shown"),
    [
        ("bad_json", b'{"text": "a', "Unterminated string"),
        ("bad_json", b"[" * 100_000, "recursion"),
        ("bad_json", b'["text"]', "no object: '[\"text\"]'"),
        ("no_field", b'{"txt": "a"}', "field 'text' is missing; there are 'txt': "),
        ("no_field", b"{}", "field 'text' is missing; there are none"),
        ("no_field", b'{"text": null}', "field 'text' is no string but a NoneType"),
        ("no_field", b'{"text": ["a"]}', "field 'text' is no string but a list"),
        ("bad_utf8", b'{"text": "\xff"}', "byte 10 is 0xff"),
        ("bad_utf8", b'{"text": "\\ud800"}', "half a surrogate pair"),
        ("nul", b'{"text": "a\\u0000b"}', "a NUL byte"),
        ("control_characters", b'{"text": "\\u0001"}', "'\\x01'"),
    ],
)
def test_a_broken_record(tmp_path: Path, kind: str, record: bytes, shown: str) -> None:
    content = b'{"text": "one"}\n' + record + b'\n{"text": "three"}\n'
    found = prepared(tmp_path, "bad.jsonl", content, field="text")
    assert found.sentences() == ["good text", "one", "three"]
    assert found.problems == {kind: 1}
    (example,) = examples(found, kind)
    assert example.startswith(f"{tmp_path / 'bad.jsonl'}:2: ")
    assert shown in example


def test_a_long_line_in_a_record(tmp_path: Path) -> None:
    content = json.dumps({"text": "a\n" + "bc " * 20}).encode()
    found = prepared(tmp_path, "bad.jsonl", content, field="text", longest_line=30)
    assert found.sentences() == ["good text", "a", *["bc bc bc bc bc bc bc bc bc bc"] * 2]
    assert found.problems == {"long_line": 1}
    assert found.facts["splits"]["train"]["documents"] == 2


def test_a_long_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONGEST_RECORD", 50)
    content = b'{"text": "' + b"a" * 100 + b'"}\n{"text": "b"}\n'
    found = prepared(tmp_path, "bad.jsonl", content, field="text")
    assert found.sentences() == ["good text", "b"]
    assert found.problems == {"long_record": 1}


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \n\xff\n"])
def test_an_empty_corpus_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(InputError, match="the corpus holds no words") as raised:
        prepare(tmp_path / "t", tmp_path / "out")
    if content != b"\n\n":
        assert str(tmp_path / "t") in str(raised.value)
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_empty_held_out_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\n")
    (tmp_path / "v").write_bytes(b"")
    with pytest.raises(InputError, match=r"the held-out text holds no words: .*v: is empty"):
        prepare(tmp_path / "t", tmp_path / "out", valid=tmp_path / "v")


def test_the_first_problem_of_the_text_is_the_error() -> None:
    problems = Problems()
    problems.check_none()
    problems.extend({"nul": 1, "bad_utf8": 1}, [Problem("nul", "late", 9, "f")])
    problems.add(Problem("bad_utf8", "early", 2, "f"), 0)
    with pytest.raises(InputError, match="f:2: early"):
        problems.check_none()


def test_every_kind_is_reported_in_a_fixed_order() -> None:
    problems = Problems()
    for kind in reversed(KINDS):
        problems.add(Problem(kind, "x", file="f"))
    assert list(problems.to_dict()) == list(KINDS)
