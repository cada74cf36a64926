import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import FormatError
from elmokit.tasks.squad.data import Passage, passage_of, passage_of_tokens
from elmokit.tasks.squad.task import TASK
from elmokit.text.tokenise import WordTokeniser

CONTEXT = "The Broncos beat the Panthers (24–10). It was the Broncos' third title."


def _record(**changes: Any) -> dict[str, Any]:
    answers = [{"text": "Broncos", "start": 4}, {"text": "The Broncos", "start": 0}]
    return {
        "context": CONTEXT,
        "qas": [{"id": "q1", "question": "Who won?", "answers": answers}],
        **changes,
    }


def _file(tmp_path: Path, *records: object, name: str = "data.jsonl") -> Path:
    file = tmp_path / name
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def _passage(text: str) -> Passage:
    return passage_of(text, WordTokeniser()(text))


def test_texts_with_answers_by_character(tmp_path: Path) -> None:
    qas = [
        *_record()["qas"],
        {"question": "What was the score?", "answers": [{"text": "24–10", "start": 31}]},
    ]
    first, second = TASK.read(_file(tmp_path, _record(qas=qas), {"context": "x y", "qas": []}))
    assert first.passage.text == CONTEXT
    assert first.passage is second.passage
    assert first.passage.tokens[:4] == ("The", "Broncos", "beat", "the")
    assert first.tokens == ("Who", "won", "?")
    assert first.id == "q1"
    assert first.answers == ("Broncos", "The Broncos")
    assert first.spans == ((0, 1), (1, 1))
    assert second.id is None
    assert [second.passage.text_at(*span) for span in second.spans] == ["24–10"]
    contexts, questions = TASK.texts([first, second])
    assert contexts[0] is contexts[1]
    assert questions == [first.tokens, second.tokens]


def test_tokens_with_answers_by_token(tmp_path: Path) -> None:
    record = {
        "id": "s1",
        "tokens": ["Ann", "does", "n't", "sing"],
        "qas": [{"question": "Who?", "answers": [[0, 0], [0, 0], [1, 2]]}],
    }
    (question,) = TASK.read(_file(tmp_path, record))
    assert question.passage.tokens == ("Ann", "does", "n't", "sing")
    assert question.answers == ("Ann", "Ann", "does n't")
    assert question.spans == ((0, 0), (1, 2))


@pytest.mark.parametrize("indent", [None, 2])
def test_the_official_file(tmp_path: Path, indent: int | None) -> None:
    answers = [{"text": "Broncos", "answer_start": 4}]
    paragraph = {"context": CONTEXT, "qas": [{"id": "a", "question": "Who?", "answers": answers}]}
    data = [{"title": "t", "paragraphs": [paragraph, paragraph]}]
    file = tmp_path / "dev-v1.1.json"
    file.write_text(json.dumps({"version": "1.1", "data": data}, indent=indent))
    questions = TASK.read(file)
    assert [question.spans for question in questions] == [((1, 1),)] * 2


def test_a_split_of_a_compressed_file(tmp_path: Path) -> None:
    records = [_record(split="train"), _record(split="dev", context="Broncos won", qas=[
        {"question": "Who?", "answers": [{"text": "Broncos", "start": 0}]}
    ])]  # fmt: skip
    file = tmp_path / "data.jsonl.xz"
    file.write_bytes(lzma.compress("\n".join(map(json.dumps, records)).encode()))
    assert len(TASK.read(file)) == 2
    (question,) = TASK.read(tmp_path / "data.jsonl.xz#dev")
    assert question.passage.text == "Broncos won"
    with pytest.raises(FormatError, match=r"no split 'test': found 'train', 'dev'"):
        TASK.read(tmp_path / "data.jsonl.xz#test")


def test_a_split_needs_the_field(tmp_path: Path) -> None:
    _file(tmp_path, _record())
    with pytest.raises(FormatError, match=r"line 1: key 'split' is missing"):
        TASK.read(tmp_path / "data.jsonl#dev")


@pytest.mark.parametrize(
    ("answer", "spans"),
    [
        ({"text": "Bronc", "start": 4}, ((1, 1),)),  # cuts a token: the whole token
        ({"text": "roncos beat th", "start": 5}, ((1, 3),)),
        ({"text": "24", "start": 31}, ((6, 6),)),
        ({"text": " beat ", "start": 11}, ((2, 2),)),
        ({"text": "Broncos", "start": 5}, ()),  # does not stand there
        ({"text": "Broncos", "start": 900}, ()),
        ({"text": "Broncos", "start": -1}, ()),
        ({"text": "Broncos", "start": None}, ()),
        ({"text": "Broncos"}, ()),
        ({"text": " ", "start": 3}, ()),  # no token
        ({"text": "", "start": 4}, ()),
        ({"text": "", "start": 5}, ()),
    ],
)
def test_where_an_answer_stands(
    tmp_path: Path, answer: dict[str, Any], spans: tuple[tuple[int, int], ...]
) -> None:
    qas = [{"question": "Who won?", "answers": [answer]}]
    (question,) = TASK.read(_file(tmp_path, _record(qas=qas)))
    assert question.spans == spans
    assert question.answers == (answer["text"],)  # counts in scoring all the same


def test_characters_and_tokens_are_inverse_to_each_other() -> None:
    for passage in (_passage(CONTEXT), _passage("a"), passage_of_tokens(["x", "yy", "z"])):
        count = len(passage.tokens)
        for first in range(count):
            for last in range(first, count):
                assert passage.tokens_at(*passage.characters_at(first, last)) == (first, last)
        assert [passage.text_at(place, place) for place in range(count)] == list(passage.tokens)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": 3}, "line 2: key 'context': expected a string, found 3"),
        ({"context": " \n"}, "line 2: key 'context': expected a text, found no word"),
        ({"qas": "?"}, "line 2: key 'qas': expected a list of JSON objects"),
        ({"qas": ["?"]}, "line 2: key 'qas': expected a list of JSON objects"),
        ({"qas": [{"answers": []}]}, "line 2, question 1: key 'question' is missing"),
        ({"qas": [{"question": " ", "answers": []}]}, "question 1: key 'question': expected words"),
        ({"qas": [{"question": "Who?"}]}, "key 'answers': expected a list of one answer or more"),
        ({"qas": [{"question": "Who?", "answers": []}]}, "one answer or more, found []"),
        ({"qas": [{"question": "Who?", "answers": ["x"]}]}, "expected text and start, found 'x'"),
        ({"qas": [{"question": "Who?", "answers": [{"start": 1}]}]}, "key 'text' is missing"),
        (
            {"qas": [{"question": "Who?", "answers": [{"text": "x", "start": "1"}]}]},
            "line 2, question 1: answers: expected the start of a text, found '1'",
        ),
        (
            {"qas": [{"question": "Who?", "id": 7, "answers": [{"text": "x", "start": 1}]}]},
            "key 'id': expected a string, found 7",
        ),
        ({"tokens": []}, "line 2: key 'tokens': expected a list of tokens"),
        (
            {"tokens": ["x"], "qas": [{"question": "Who?", "answers": [[0, 1]]}]},
            "answers: a span within 1 tokens, found [0, 1]",
        ),
        (
            {"tokens": ["x"], "qas": [{"question": "Who?", "answers": [{"text": "x"}]}]},
            "answers: expected [first, last]",
        ),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = _file(tmp_path, _record(), _record(**changes))
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        TASK.read(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no data"),
        ("\n", "holds no questions"),
        ('{"context": "x", "qas": []}', "holds no questions"),
        ("{", "line 1: is no JSON"),
        ("[1]", "line 1: expected a JSON object"),
        ('{"qas": []}', "line 1: key 'context' is missing"),
        ('{"data": 1}', "the file: key 'data': expected a list"),
        ('{"data": [{}]}', "article 1: key 'paragraphs': expected a list"),
        (
            '{"data": [{"paragraphs": []}, {"paragraphs": [{"context": "x"}]}]}',
            "article 2, paragraph 1: key 'qas'",
        ),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "data.json"
    file.write_text(content)
    with pytest.raises(FormatError, match=re.escape(message)):
        TASK.read(file)


def test_a_missing_file_is_named_without_its_split(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.jsonl: cannot be read"):
        TASK.read(tmp_path / "none.jsonl#dev")
