"""What coreference settles from data, and questions and answers."""

from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.errors import InputError
from elmokit.tasks.coref.data import CorefDocument
from elmokit.tasks.coref.sentences import sentences_of
from elmokit.tasks.coref.settings import CorefSettings
from elmokit.tasks.coref.task import TASK
from elmokit.tasks.task import Task
from elmokit.text.tokenise import WordTokeniser
from task_vectors import text_vectors

DOCUMENT = CorefDocument("", (("Anna", "left"), ("The", "dog", "saw", "her")), (((0, 0), (5, 5)),))
TOKENISE = WordTokeniser()


def test_the_task_is_one() -> None:
    task: Task[CorefDocument] = TASK

    assert (task.name, task.title, task.metric) == ("coref", "Coref", "f1")


def test_the_defaults_take_one_document_a_step() -> None:
    defaults = TASK.defaults()

    assert defaults.recipe.batch_size == 1
    assert isinstance(defaults.model, CorefSettings)
    assert defaults.changed(["widest=10"]).model == CorefSettings(widest=10)


@pytest.mark.parametrize(("alone", "expected"), [(0, False), (1, False), (5, True)])
def test_singletons_are_annotated_where_they_are_not_rare(alone: int, expected: bool) -> None:
    pairs = tuple(((place, place), (place + 100, place + 100)) for place in range(30))
    clusters = (*pairs, *(((place + 50, place + 50),) for place in range(alone)))
    document = CorefDocument("", (("a",) * 200,), clusters)

    assert TASK.labels([document]) == {"singletons": expected}


def test_without_clusters_there_are_no_singletons() -> None:
    assert TASK.labels([CorefDocument("", (("a",),), ())]) == {"singletons": False}


def test_targets_say_where_tokens_and_mentions_are() -> None:
    targets = TASK.targets([DOCUMENT], {"singletons": False})

    assert targets["tokens"].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3]]
    assert targets["mentions"].tolist() == [[0, 0], [5, 5]]
    assert targets["clusters"].tolist() == [1, 1]


def test_a_document_without_any_cluster_has_empty_targets() -> None:
    targets = TASK.targets([CorefDocument("", (("a",),), ())], {})

    assert targets["mentions"].shape == (0, 2)
    assert targets["clusters"].shape == (0,)


def test_two_documents_in_a_batch_are_refused() -> None:
    with pytest.raises(InputError, match="one document at a time, found 2"):
        TASK.targets([DOCUMENT, DOCUMENT], {})


def test_texts_are_the_sentences_of_all_documents() -> None:
    other = CorefDocument("", (("Yes",),))

    assert TASK.texts([DOCUMENT, other]) == [[*DOCUMENT.sentences, ("Yes",)]]


def test_whatever_can_be_read_can_be_evaluated_on() -> None:
    TASK.check([DOCUMENT], {"singletons": True}, Path("dev.jsonl"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna left. She slept!", [["Anna", "left", "."], ["She", "slept", "!"]]),
        ("Mr. Poe left\nHe slept", [["Mr.", "Poe", "left"], ["He", "slept"]]),
        ('"Go!" he said.', [['"', "Go", "!", '"'], ["he", "said", "."]]),
        ("Why?! (No.) So\n\n", [["Why", "?", "!"], ["(", "No", ".", ")"], ["So"]]),
        (["Anna left. Yes.", "", "Ok"], [["Anna", "left", ".", "Yes", "."], ["Ok"]]),
        ([["Anna", "left"], [], ["So"]], [["Anna", "left"], ["So"]]),
        ([("Anna",), "She slept"], [["Anna"], ["She", "slept"]]),
    ],
)
def test_documents_are_cut_into_sentences(text: Any, expected: list[list[str]]) -> None:
    assert [list(sentence) for sentence in sentences_of(text, TOKENISE)] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one word, found ''"),
        (" \n ", "at least one word"),
        ([], "at least one word"),
        ([[]], "at least one word"),
        (7, "expected a text, sentences or lists of tokens, found 7"),
        (["a", 7], "sentence 1: expected a text or a list of tokens, found 7"),
        ([["a", ""]], r"sentence 0: expected a text or a list of tokens, found \['a', ''\]"),
    ],
)
def test_what_is_no_document_is_refused(text: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.parse(text, TOKENISE, {"singletons": True})


def test_a_question_is_answered_with_mentions() -> None:
    labels = {"singletons": True}
    torch.manual_seed(0)
    model = TASK.build(CorefSettings(lstm_dim=8), input_dim=24, output_dim=0, labels=labels).eval()

    [example] = TASK.parse("Anna left. The dog saw her.", TOKENISE, labels)
    targets = TASK.targets([example], labels)
    assert set(targets) == {"tokens"}
    model.predict([text_vectors(role) for role in TASK.texts([example])], targets)
    answer = TASK.answer(example, [[(0, 0), (6, 6)], [(3, 4)]])

    assert answer == {
        "sentences": [["Anna", "left", "."], ["The", "dog", "saw", "her", "."]],
        "clusters": [
            [
                {"sentence": 0, "first": 0, "last": 0, "text": "Anna"},
                {"sentence": 1, "first": 6, "last": 6, "text": "her"},
            ],
            [{"sentence": 1, "first": 3, "last": 4, "text": "The dog"}],
        ],
    }
    assert TASK.show(answer) == "Anna | her\nThe dog"
    assert TASK.show({"sentences": [["a"]], "clusters": []}) == "no mentions found"
