import json
import lzma
import os
import threading
from pathlib import Path

import pytest

from elmokit.errors import FormatError
from elmokit.tasks.sst.data import SstExample, read_examples

TREES = """\
(3 (2 It) (4 (2 's) (4 good)))
(1 (2 -LRB-) (1 (1 (0 bad) (2 and\\/or)) (2 -RRB-)))

(4 good)
(1 (2 It) (1 (0 bad) (2 8\u00a01\\/2)))
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_records_with_tokens_or_text(tmp_path: Path) -> None:
    lines = [
        {"tokens": ["It's", "good"], "label": 4},
        {"text": "It isn't.", "label": "bad", "id": 3},
        {"tokens": ["both"], "text": "both of them", "label": "4"},
    ]
    file = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert read_examples(file) == [
        SstExample(("It's", "good"), "4"),
        SstExample(("It", "is", "n't", "."), "bad"),
        SstExample(("both",), "4"),
    ]


def test_compressed_records(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.xz"
    with lzma.open(file, "wt", encoding="utf-8") as stream:
        stream.write('{"tokens": ["좋다"], "label": 1}\n')
    assert read_examples(file) == [SstExample(("좋다",), "1")]


def test_records_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = [json.dumps({"text": "good", "label": number}) for number in range(5000)]
    writer = threading.Thread(target=written, args=(pipe, "\n".join(lines)))
    writer.start()
    assert len(read_examples(pipe)) == len(lines)
    writer.join()


@pytest.mark.parametrize("name", ["train.trees.txt", "train.txt"])
def test_trees_give_sentences_and_then_every_phrase_once(tmp_path: Path, name: str) -> None:
    examples = read_examples(written(tmp_path / name, TREES))
    assert [(" ".join(e.tokens), e.label) for e in examples] == [
        ("It 's good", "3"),
        ("( bad and/or )", "1"),
        ("good", "4"),  # a sentence, so it stays though it is a phrase of the first one
        ("It bad 8 1/2", "1"),
        ("'s good", "4"),
        ("good", "4"),
        ("'s", "2"),
        ("It", "2"),
        ("bad and/or )", "1"),
        (")", "2"),
        ("bad and/or", "1"),
        ("and/or", "2"),
        ("bad", "0"),
        ("(", "2"),
        ("bad 8 1/2", "1"),
        ("8 1/2", "2"),
    ]


def test_a_deep_tree(tmp_path: Path) -> None:
    depth = 3000
    line = "(1 (2 a) " * depth + "(3 b)" + ")" * depth
    examples = read_examples(written(tmp_path / "deep.txt", line))
    assert len(examples[0].tokens) == depth + 1
    assert len(examples) == depth + 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(3 (2 It) (4 good)", "line 2: brackets not closed: 1"),
        ("(3 (2 It) (4 good)))", r"line 2: expected one tree in brackets, found '\)'"),
        ("(3 (2 It)) (4 good)", r"line 2: expected one tree in brackets, found '\(4'"),
        ("3 It", "line 2: expected one tree in brackets, found '3'"),
        ("(3 (2 It) ((4 good)))", "line 2: a bracket without a label at character 10"),
        ("(3 (2 It) ())", "line 2: a bracket without a label at character 10"),
        ("(3 (2 It) (4))", "line 2: no word under label '4'"),
        ("(3 (2 It is))", r"line 2: expected \(label word\), found 'is' without label"),
        ("(3 (2 It) is)", r"line 2: expected \(label word\), found 'is' without label"),
        ("(3 It (2 is))", r"line 2: words and brackets side by side in \(3"),
    ],
)
def test_malformed_trees(tmp_path: Path, line: str, message: str) -> None:
    file = written(tmp_path / "bad.trees.txt", f"(1 fine)\n{line}\n")
    with pytest.raises(FormatError, match=r"bad\.trees\.txt: " + message):
        read_examples(file)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: is no JSON"),
        ("[1]", r"line 2: expected a JSON object, found \[1\]"),
        ('{"label": 1}', "line 2: key 'tokens' is missing; found 'label'"),
        ('{"tokens": ["a"]}', "line 2: key 'label' is missing; found 'tokens'"),
        ('{"tokens": [], "label": 1}', r"line 2: key 'tokens': expected a list .* found \[\]"),
        ('{"tokens": "a b", "label": 1}', "line 2: key 'tokens': expected a list .* found 'a b'"),
        ('{"tokens": ["a", 3], "label": 1}', "line 2: key 'tokens': expected a list of tokens"),
        ('{"text": " ", "label": 1}', "line 2: key 'text': expected at least one word, found ' '"),
        ('{"text": 5, "label": 1}', "line 2: key 'text': expected a text .* found 5"),
        ('{"text": "a", "label": 1.5}', "line 2: key 'label': .* found 1.5"),
        ("(3 good)", "line 2: is no JSON"),
    ],
)
def test_malformed_records(tmp_path: Path, line: str, message: str) -> None:
    file = written(tmp_path / "bad.jsonl", f'{{"tokens": ["a"], "label": 1}}\n{line}\n')
    with pytest.raises(FormatError, match=r"bad\.jsonl: " + message):
        read_examples(file)


def test_empty_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"empty\.jsonl: holds no data"):
        read_examples(written(tmp_path / "empty.jsonl", ""))
    with pytest.raises(FormatError, match=r"blank\.jsonl: holds no examples"):
        read_examples(written(tmp_path / "blank.jsonl", "\n\n"))
    with pytest.raises(FormatError, match=r"missing\.jsonl: cannot be read"):
        read_examples(tmp_path / "missing.jsonl")
