"""Reading sentences with named entities."""

import json
from pathlib import Path

import numpy as np
import pytest
from seqeval.metrics import classification_report

from elmokit.errors import FormatError
from elmokit.tasks.blocks.bio import spans_of, tags_of
from elmokit.tasks.ner.data import NerExample, read_ner
from elmokit.tasks.ner.metric import entity_scores
from elmokit.tasks.ner.task import TASK

COLUMNS = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
British JJ I-NP B-MISC
call NN I-NP O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "data"
    file.write_text(text, encoding="utf-8")
    return file


def test_columns_in_iob1(tmp_path: Path) -> None:
    assert read_ner(written(tmp_path, COLUMNS)) == [
        NerExample(
            ("EU", "rejects", "German", "British", "call"),
            (("ORG", 0, 0), ("MISC", 2, 2), ("MISC", 3, 3)),
        ),
        NerExample(("Peter", "Blackburn"), (("PER", 0, 1),)),
    ]


def test_json_lines(tmp_path: Path) -> None:
    record = {"tokens": ["Ada", "Lovelace", "came"], "tags": ["B-PER", "I-PER", "O"], "id": 3}
    file = written(tmp_path, json.dumps(record) + "\n\n" + json.dumps(record) + "\n")
    assert read_ner(file) == [NerExample(("Ada", "Lovelace", "came"), (("PER", 0, 1),))] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EU I-ORG\nrejects\n", "line 2: expected a token and its tag, found 'rejects'"),
        ("EU X-ORG\n", "line 1: tag: expected .* found 'X-ORG'"),
        ('{"tokens": ["a", "b"], "tags": ["O"]}\n', "line 1: expected a tag for each of 2 tokens"),
        ('{"tokens": ["a"], "tags": ["O"]}\n{"tokens": []}\n', "line 2: key 'tokens': expected"),
        ('{"tokens": ["a"]}\n', "line 1: key 'tags' is missing; found 'tokens'"),
        ('{"tokens": ["a"]\n', "line 1: is no JSON"),
        ("\n\n", "expected sentences with tags, found none"),
        ("", "holds no data"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(FormatError, match=message) as caught:
        read_ner(file)
    assert str(file) in str(caught.value)


def test_data_without_any_known_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no entity of a kind that the model knows.*LOC, PER"):
        TASK.check([NerExample(("a",), (("GENE", 0, 0),))], {"entities": ["LOC", "PER"]}, tmp_path)


def test_scores_worked_by_hand() -> None:
    gold = [[("PER", 0, 1), ("LOC", 3, 3)], [("PER", 0, 0)], []]
    found = [[("PER", 0, 1), ("LOC", 2, 3)], [("ORG", 0, 0)], []]
    scores = entity_scores(gold, found)
    # One of three found is right, one of three is found.
    assert scores["precision"] == pytest.approx(100 / 3)
    assert scores["recall"] == pytest.approx(100 / 3)
    assert scores["f1"] == pytest.approx(100 / 3)
    assert scores["f1/PER"] == pytest.approx(100 * 2 / 3)  # precision 1, recall 1/2
    assert scores["f1/LOC"] == scores["f1/ORG"] == 0.0


def test_nothing_expected_and_nothing_found() -> None:
    assert entity_scores([[]], [[]])["f1"] == 100.0
    assert entity_scores([[("PER", 0, 0)]], [[]])["f1"] == 0.0


def test_counts_as_seqeval_does() -> None:
    random = np.random.default_rng(1)
    choices = ["O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    sides = [[spans_of(random.choice(choices, 9).tolist()) for _ in range(50)] for _ in range(2)]
    sides[1][:30] = sides[0][:30]
    tags = [[tags_of(spans, 9) for spans in side] for side in sides]
    report = classification_report(*tags, output_dict=True)
    scores = entity_scores(*sides)
    for name, figure in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
        assert scores[name] == pytest.approx(100 * float(report["micro avg"][figure]))
    for label in ("PER", "LOC"):
        assert scores[f"f1/{label}"] == pytest.approx(100 * float(report[label]["f1-score"]))
    assert 20 < scores["f1"] < 90
