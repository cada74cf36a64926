import json
from pathlib import Path

import pytest

from elmokit.errors import FormatError
from elmokit.tasks.snli.data import SnliExample, read_examples


def written(path: Path, *records: object) -> Path:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_records_of_texts_or_tokens(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.jsonl",
        {"premise": "A man can't run.", "hypothesis": "He runs", "label": "contradiction"},
        {
            "premise": ["A", "man"],
            "hypothesis": ["One", "man", "can't"],
            "label": 1,
            "kind": "cardinals",
            "relatedness": 3.5,
        },
    )
    assert read_examples(file) == [
        SnliExample(("A", "man", "ca", "n't", "run", "."), ("He", "runs"), "contradiction"),
        SnliExample(("A", "man"), ("One", "man", "can't"), "1", "cardinals"),
    ]


def test_the_files_of_snli_itself(tmp_path: Path) -> None:
    pair = {"sentence1": "A man runs.", "sentence2": "He runs.", "annotator_labels": ["neutral"]}
    file = written(
        tmp_path / "snli_1.0_dev.jsonl",
        {**pair, "gold_label": "-"},
        {**pair, "gold_label": "entailment"},
    )
    assert read_examples(file) == [
        SnliExample(("A", "man", "runs", "."), ("He", "runs", "."), "entailment")
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "line 2: is no JSON"),
        ('"text"', "line 2: expected a JSON object, found 'text'"),
        ({"hypothesis": "b", "label": "x"}, "line 2: key 'premise' is missing; found 'hypothesis'"),
        ({"premise": "a", "label": "x"}, "line 2: key 'hypothesis' is missing"),
        ({"premise": "a", "hypothesis": "b"}, "line 2: key 'label' is missing"),
        ({"sentence1": "a", "sentence2": "b"}, "line 2: key 'gold_label' is missing"),
        (
            {"premise": " ", "hypothesis": "b", "label": "x"},
            "line 2: key 'premise': expected at least one word, found ' '",
        ),
        (
            {"premise": "a", "hypothesis": [], "label": "x"},
            r"line 2: key 'hypothesis': expected a list of tokens, found \[\]",
        ),
        (
            {"premise": 5, "hypothesis": "b", "label": "x"},
            "line 2: key 'premise': expected a text or a list of tokens, found 5",
        ),
        (
            {"premise": "a", "hypothesis": "b", "label": None},
            "line 2: key 'label': expected a string or a whole number, found None",
        ),
        (
            {"premise": "a", "hypothesis": "b", "label": "x", "kind": 3},
            "line 2: key 'kind': expected a string, found 3",
        ),
    ],
)
def test_malformed_records(tmp_path: Path, line: object, message: str) -> None:
    good = {"premise": "a", "hypothesis": "b", "label": "x"}
    with pytest.raises(FormatError, match=r"bad\.jsonl: " + message):
        read_examples(written(tmp_path / "bad.jsonl", good, line))


def test_empty_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"empty\.jsonl: holds no data"):
        read_examples(written(tmp_path / "empty.jsonl", ""))
    undecided = {"sentence1": "a", "sentence2": "b", "gold_label": "-"}
    with pytest.raises(FormatError, match=r"undecided\.jsonl: holds no examples"):
        read_examples(written(tmp_path / "undecided.jsonl", undecided))
    with pytest.raises(FormatError, match=r"missing\.jsonl: cannot be read"):
        read_examples(tmp_path / "missing.jsonl")
