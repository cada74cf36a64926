import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import FormatError
from elmokit.text.records import (
    problem,
    read_lines,
    read_records,
    span_of,
    string_field,
    tokens_field,
    words_field,
)

FILE = Path("data.jsonl")


def written(folder: Path, content: bytes, name: str = "data.jsonl") -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


def test_lines_are_numbered_and_lose_their_ends(tmp_path: Path) -> None:
    file = written(tmp_path, b"a\r\n\n b \nc")
    assert list(read_lines(file)) == [(1, "a"), (2, ""), (3, " b "), (4, "c")]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "a\u2028b\x0cc\x85d\n".encode())
    assert list(read_lines(file)) == [(1, "a\u2028b\x0cc\x85d")]


@pytest.mark.parametrize(
    ("compress", "name"),
    [
        (gzip.compress, "a.jsonl.gz"),
        (lzma.compress, "a.jsonl.xz"),
        (bz2.compress, "a.jsonl.bz2"),
        (gzip.compress, "a.jsonl"),
    ],
)
def test_archives_are_unpacked(
    tmp_path: Path, compress: Callable[[bytes], bytes], name: str
) -> None:
    file = written(tmp_path, compress(b'{"a": 1}\n{"b": 2}\n'), name)
    assert list(read_records(file)) == [(1, {"a": 1}), (2, {"b": 2})]


def test_an_archive_that_breaks_off(tmp_path: Path) -> None:
    whole = lzma.compress(json.dumps(list(range(5000))).encode())
    with pytest.raises(FormatError, match=r"a\.xz: the xz archive breaks off"):
        list(read_lines(written(tmp_path, whole[:-40], "a.xz")))


def test_a_name_that_promises_an_archive(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the file is no gzip archive but a web page"):
        list(read_lines(written(tmp_path, b"<html>gone</html>", "a.gz")))


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds no data: found an empty file"):
        list(read_lines(written(tmp_path, b"")))


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"data\.jsonl: line 2: is no UTF-8 text"):
        list(read_lines(written(tmp_path, b"a\nb\xff\nc\n")))


def test_records_pass_over_empty_lines_but_count_them(tmp_path: Path) -> None:
    file = written(tmp_path, b'\n{"a": "\xc3\xa4"}\n  \n{}\n')
    assert list(read_records(file)) == [(2, {"a": "ä"}), (4, {})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"a": 1', "line 2: is no JSON"),
        (b"[1, 2]", r"line 2: expected a JSON object, found \[1, 2\]"),
        (b'"' + b"x" * 200 + b'"', r"found 'x{76}\.\.\.$"),
        (b"[" * 100_000, "line 2: is no JSON"),
    ],
)
def test_lines_that_are_no_records(tmp_path: Path, line: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        list(read_records(written(tmp_path, b"{}\n" + line + b"\n")))


def test_fields_are_given_as_they_are() -> None:
    record = {"text": "It's late.", "tokens": ["a", "b c"]}
    assert string_field(FILE, 1, record, "text") == "It's late."
    assert tokens_field(FILE, 1, record, "tokens") == ("a", "b c")
    assert words_field(FILE, 1, record, "text") == ("It", "'s", "late", ".")
    assert words_field(FILE, 1, record, "tokens") == ("a", "b c")


Field = Callable[[Path, int, dict[str, Any], str], Any]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (string_field, 3, "a string, found 3"),
        (string_field, None, "a string, found None"),
        (tokens_field, "a b", "a list of tokens, found 'a b'"),
        (tokens_field, [], r"a list of tokens, found \[\]"),
        (tokens_field, ["a", ""], r"a list of tokens, found \['a', ''\]"),
        (tokens_field, ["a", 1], r"a list of tokens, found \['a', 1\]"),
        (words_field, 3, "a text or a list of tokens, found 3"),
        (words_field, [""], r"a list of tokens, found \[''\]"),
        (words_field, "  ", "at least one word, found '  '"),
    ],
)
def test_fields_of_a_wrong_kind(field: Field, value: object, expected: str) -> None:
    with pytest.raises(FormatError, match=rf"data\.jsonl: line 7: key 'x': expected {expected}"):
        field(FILE, 7, {"x": value}, "x")


@pytest.mark.parametrize("field", [string_field, tokens_field, words_field])
def test_a_missing_field_is_named_with_those_that_are_there(field: Field) -> None:
    message = r"data\.jsonl: line 7: key 'x' is missing; found 'y', 'z'"
    with pytest.raises(FormatError, match=message):
        field(FILE, 7, {"y": 1, "z": 2}, "x")


def test_a_span_lies_within_the_tokens() -> None:
    assert span_of(FILE, 1, [0, 2], 3, "span") == (0, 2)
    assert span_of(FILE, 1, [1, 1], 3, "span") == (1, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0, 3], r"line 4: span A0: a span within 3 tokens, found \[0, 3\]"),
        ([-1, 0], "a span within 3 tokens"),
        ([2, 1], "a span within 3 tokens"),
        ([0], r"expected \[first, last\], found \[0\]"),
        ([0, 1, 2], r"expected \[first, last\]"),
        ([0, True], r"expected \[first, last\]"),
        (["0", 1], r"expected \[first, last\]"),
        ("01", r"expected \[first, last\], found '01'"),
    ],
)
def test_other_spans(value: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        span_of(FILE, 4, value, 3, "span A0")


def test_places_are_lines_or_words() -> None:
    assert str(problem(FILE, 3, "is odd")) == "data.jsonl: line 3: is odd"
    assert str(problem(FILE, "article 3", "is odd")) == "data.jsonl: article 3: is odd"
