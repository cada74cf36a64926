"""Reading documents with clusters, and what is said about files that are wrong."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import FormatError
from elmokit.tasks.coref.data import CorefDocument, read_documents
from elmokit.tasks.coref.task import TASK

GOOD = {
    "doc": "novel",
    "split": "train",
    "sentences": [["Anna", "left", "."], ["She", "slept"]],
    "clusters": [[[3, 3], [0, 0]]],
}


def written(tmp_path: Path, *records: dict[str, Any], name: str = "data.jsonl") -> Path:
    file = tmp_path / name
    text = "".join(json.dumps(record) + "\n" for record in records)
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text)
    return file


def test_a_document_is_read_with_its_mentions_in_order(tmp_path: Path) -> None:
    [document] = TASK.read(written(tmp_path, GOOD))

    assert document == CorefDocument(
        "novel", (("Anna", "left", "."), ("She", "slept")), (((0, 0), (3, 3)),)
    )


def test_a_compressed_file_and_a_document_without_name_are_read(tmp_path: Path) -> None:
    nameless = {key: value for key, value in GOOD.items() if key != "doc"}

    [document] = read_documents(written(tmp_path, nameless, name="data.jsonl.gz"))

    assert document.name == "line 1"


def test_a_split_is_chosen_by_the_end_of_the_path(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD, GOOD | {"doc": "other", "split": "dev"})

    def names(path: str) -> list[str]:
        return [document.name for document in read_documents(Path(path))]

    assert names(f"{file}#dev") == ["other"]
    assert names(f"{file}#train") == ["novel"]
    assert names(str(file)) == ["novel", "other"]


def test_an_unknown_split_is_named_with_those_there_are(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD, GOOD | {"split": "dev"})

    with pytest.raises(FormatError, match=r"expected 'test', found 'dev', 'train'"):
        read_documents(Path(f"{file}#test"))


def test_a_mention_that_stands_twice_counts_where_it_stands_first(tmp_path: Path) -> None:
    clusters = [[[0, 0], [3, 3], [0, 0]], [[3, 3], [4, 4]], [[0, 0]]]

    [document] = read_documents(written(tmp_path, GOOD | {"clusters": clusters}))

    assert document.clusters == (((0, 0), (3, 3)), ((4, 4),))


def test_an_empty_token_stays_because_spans_count_it(tmp_path: Path) -> None:
    record = {"sentences": [["a", "", "b"]], "clusters": [[[0, 0], [2, 2]]]}

    [document] = read_documents(written(tmp_path, record))

    assert document.sentences == (("a", "", "b"),)


def test_a_document_without_clusters_is_one(tmp_path: Path) -> None:
    [document] = read_documents(written(tmp_path, GOOD | {"clusters": []}))

    assert document.clusters == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentences": None}, "line 2: key 'sentences': expected a list, found None"),
        ({"sentences": []}, "line 2: key 'sentences': expected at least one sentence"),
        ({"sentences": [["a"], []]}, r"sentences\[1\]: expected a list of tokens, found \[\]"),
        ({"sentences": ["a b"]}, r"line 2: sentences\[0\]: expected a list of tokens, found 'a b'"),
        ({"sentences": [["a", None]]}, r"sentences\[0\]: expected a list of tokens"),
        ({"doc": 7}, "line 2: key 'doc': expected a string, found 7"),
        ({"clusters": {}}, "line 2: key 'clusters': expected a list, found {}"),
        ({"clusters": [[]]}, r"line 2: clusters\[0\]: expected a list of mentions, found \[\]"),
        ({"clusters": [[[0]]]}, r"clusters\[0\]: expected \[first, last\], found \[0\]"),
        ({"clusters": [[["0", "1"]]]}, r"clusters\[0\]: expected \[first, last\]"),
        ({"clusters": [[[1, 0]]]}, r"clusters\[0\]: a span within 5 tokens, found \[1, 0\]"),
        ({"clusters": [[[0, 1]], [[4, 5]]]}, r"clusters\[1\]: a span within 5 tokens"),
        ({"clusters": [[[2, 3]]]}, r"a mention within one sentence, found \[2, 3\]"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = written(tmp_path, GOOD, GOOD | change)

    with pytest.raises(FormatError, match=message) as caught:
        read_documents(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("missing", ["sentences", "clusters"])
def test_a_missing_field_is_named(tmp_path: Path, missing: str) -> None:
    record = {key: value for key, value in GOOD.items() if key != missing}

    with pytest.raises(FormatError, match=f"line 1: key '{missing}' is missing; found 'doc'"):
        read_documents(written(tmp_path, record))


def test_a_chosen_split_needs_the_field(tmp_path: Path) -> None:
    file = written(tmp_path, {key: value for key, value in GOOD.items() if key != "split"})

    with pytest.raises(FormatError, match="line 1: key 'split' is missing"):
        read_documents(Path(f"{file}#train"))


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "holds no data"), ("\n\n", "holds no documents"), ("[1]\n", "expected a JSON object")],
)
def test_files_without_documents(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(content)

    with pytest.raises(FormatError, match=message):
        read_documents(file)


def test_a_missing_file_is_named_without_its_split(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.jsonl: cannot be read"):
        read_documents(tmp_path / "absent.jsonl#train")
