"""Reading frames, and what users ask about."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import FormatError, InputError
from elmokit.tasks.srl.data import SrlExample, likely_predicates
from elmokit.tasks.srl.task import TASK
from elmokit.text.tokenise import WordTokeniser

SENTENCE: dict[str, Any] = {
    "id": "a-1",
    "tokens": ["The", "cat", "chased", "its", "hope", "."],
    "upos": ["DET", "NOUN", "VERB", "PRON", "NOUN", "PUNCT"],
    "frames": [
        {"pred": 2, "roleset": "chase.01",
         "spans": [["ARG0", 0, 1], ["V", 2, 2], ["ARG1", 3, 4]]},
        {"pred": 4, "roleset": "hope.01", "spans": [["ARG0", 3, 3], ["V", 4, 4]]},
    ],
}  # fmt: skip
LABELS = {"roles": ["ARG0", "ARG1", "V"], "predicates": ["chased", "hope"]}


def written(folder: Path, *records: Any) -> Path:
    file = folder / "data.jsonl"
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


def test_an_example_for_each_frame(tmp_path: Path) -> None:
    nothing = {"tokens": ["Hello"], "upos": ["INTJ"], "frames": []}
    examples = TASK.read(written(tmp_path, nothing, "", SENTENCE))
    tokens = tuple(SENTENCE["tokens"])
    assert examples == [
        SrlExample(tokens, 2, (("ARG0", 0, 1), ("V", 2, 2), ("ARG1", 3, 4))),
        SrlExample(tokens, 4, (("ARG0", 3, 3), ("V", 4, 4))),
    ]
    assert examples[0].tokens is examples[1].tokens


def test_verbs_alone_and_compressed(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl.xz"
    file.write_bytes(lzma.compress(json.dumps(SENTENCE).encode()))
    assert [one.predicate for one in TASK.read(file)] == [2, 4]
    assert [one.predicate for one in TASK.read(tmp_path / "data.jsonl.xz#verbs")] == [2]
    with pytest.raises(InputError, match=r"data\.jsonl\.xz#verbs"):
        TASK.read(tmp_path / "data.jsonl.xz#nouns")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": []}, "line 2: key 'tokens': expected a list of tokens"),
        ({"frames": None}, "line 2: key 'frames': expected a list, found None"),
        ({"frames": [[1]]}, r"line 2: frame: expected pred and spans, found \[1\]"),
        ({"frames": [{"pred": 2}]}, "line 2: frame: expected pred and spans"),
        ({"frames": [{"pred": 6, "spans": []}]}, "line 2: pred: expected one of 6 tokens, found 6"),
        ({"frames": [{"pred": True, "spans": []}]}, "line 2: pred: .* found True"),
        ({"frames": [{"spans": []}]}, "line 2: pred: .* found None"),
        ({"frames": [{"pred": 2, "spans": [["V", 2]]}]}, r"expected \[label, first, last\], found"),
        ({"frames": [{"pred": 2, "spans": [["", 2, 2]]}]}, "line 2: span: expected a label"),
        ({"frames": [{"pred": 2, "spans": [["V", 2, 6]]}]}, "span V: a span within 6 tokens"),
        ({"frames": [{"pred": 2, "spans": [["V", "2", 2]]}]}, r"span V: expected \[first, last\]"),
        (
            {"frames": [{"pred": 2, "spans": [["A", 0, 2], ["V", 2, 2]]}]},
            r"line 2: frame of token 2: span \('V', 2, 2\) overlaps",
        ),
    ],
)
def test_what_is_wrong_with_a_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = written(tmp_path, SENTENCE, SENTENCE | changes)
    with pytest.raises(FormatError, match=message):
        TASK.read(file)


def test_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.jsonl: cannot be read"):
        TASK.read(tmp_path / "none.jsonl")
    with pytest.raises(FormatError, match="holds no data"):
        TASK.read(written(tmp_path))
    with pytest.raises(FormatError, match="holds no frame"):
        TASK.read(written(tmp_path, SENTENCE | {"frames": []}))
    with pytest.raises(FormatError, match="line 1: is no JSON"):
        TASK.read(written(tmp_path, "{"))
    with pytest.raises(FormatError, match="upos: expected 6 tags, found 1"):
        TASK.read(Path(f"{written(tmp_path, SENTENCE | {'upos': ['X']})}#verbs"))
    with pytest.raises(FormatError, match="'upos' is missing"):
        TASK.read(Path(f"{written(tmp_path, {'tokens': ['a'], 'frames': []})}#verbs"))


def test_labels_and_what_fits_them(tmp_path: Path) -> None:
    examples = TASK.read(written(tmp_path, SENTENCE))
    assert TASK.labels(examples) == LABELS
    TASK.check(examples, LABELS, tmp_path)
    with pytest.raises(FormatError, match="no role that the model knows"):
        TASK.check([SrlExample(("a",), 0, (("X", 0, 0),))], LABELS, tmp_path)


def test_likely_predicates_are_so_more_often_than_not() -> None:
    first = ("Run", "to", "the", "run")
    examples = [
        SrlExample(first, 0, ()),
        SrlExample(("they", "run"), 1, ()),
        SrlExample(("a", "hope", "to", "hope"), 1, ()),
        # The same sentence twice is one sentence with two predicates.
        SrlExample(("we", "do", "go"), 1, ()),
        SrlExample(("we", "do", "go"), 2, ()),
    ]
    assert likely_predicates(examples) == ["do", "go", "run"]


def test_targets() -> None:
    examples = [
        SrlExample(("a", "b", "c"), 1, (("V", 1, 1), ("ARG1", 2, 2))),
        SrlExample(("a",), 0, (("R-NEW", 0, 0),)),
    ]
    targets = TASK.targets(examples, LABELS)
    assert targets["predicate"].tolist() == [1, 0]
    # The tags are O, B-ARG0, I-ARG0, B-ARG1, I-ARG1, B-V, I-V; an unknown label has none.
    assert targets["tags"].tolist() == [[0, 5, 3], [-1, -1, -1]]
    assert set(TASK.targets([SrlExample(("a",), 0, None)], LABELS)) == {"predicate"}


def places(question: Any) -> list[tuple[str, int]]:
    examples = TASK.parse(question, WordTokeniser(), LABELS)
    assert all(example.spans is None for example in examples)
    return [(example.tokens[example.predicate], example.predicate) for example in examples]


def test_what_users_ask() -> None:
    text = "The cat chased its hope."
    assert places(text) == [("chased", 2), ("hope", 4)]
    assert places(["Hope", "chased"]) == [("Hope", 0), ("chased", 1)]
    assert places("Hello.") == []
    assert places("The cat *chased* its hope.") == [("chased", 2)]
    assert places('"The *cat* chased its *hope*."') == [("cat", 2), ("hope", 5)]
    assert places("5 * 3 * hope") == [("hope", 4)]
    assert places({"tokens": ["a", "cat"], "pred": 1}) == [("cat", 1)]
    assert places({"tokens": ["a", "hope"]}) == [("hope", 1)]
    (example,) = TASK.parse("It's *n't*!", WordTokeniser(), LABELS)
    assert "*" not in "".join(example.tokens)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("  ", "expected some text or tokens"),
        ([], "expected some text or tokens"),
        (["a", ""], "expected some text or tokens"),
        (7, "expected some text or tokens, found 7"),
        ({"tokens": ["a"], "pred": 1}, "pred: expected one of 1 tokens, found 1"),
        ({"tokens": ["a"], "predicate": 0}, "expected tokens and pred"),
        ({"pred": 0}, "expected tokens and pred"),
    ],
)
def test_what_cannot_be_asked(question: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.parse(question, WordTokeniser(), LABELS)


def test_answer() -> None:
    example = SrlExample(("The", "cat", "ran"), 2, None)
    answer = TASK.answer(example, [("ARG0", 0, 1), ("V", 2, 2)])
    assert answer == {
        "tokens": ["The", "cat", "ran"],
        "pred": 2,
        "predicate": "ran",
        "spans": [
            {"label": "ARG0", "first": 0, "last": 1, "text": "The cat"},
            {"label": "V", "first": 2, "last": 2, "text": "ran"},
        ],
    }
    assert TASK.show(answer) == "ran: [ARG0 The cat] [V ran]"
