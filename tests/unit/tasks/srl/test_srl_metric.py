"""The score of roles: cases worked by hand, and seqeval's count of the same spans."""

import random

import pytest
from seqeval.metrics import f1_score, precision_score, recall_score

from elmokit.tasks.blocks.bio import Span, spans_of, tags_of
from elmokit.tasks.srl.data import SrlExample
from elmokit.tasks.srl.metric import role_scores
from elmokit.tasks.srl.task import TASK

V = ("V", 2, 2)


def test_worked_by_hand() -> None:
    gold: list[list[Span]] = [
        [("ARG0", 0, 1), V, ("ARG1", 3, 5), ("ARGM-TMP", 6, 6)],
        [("ARG0", 0, 0), V],
        [V],
    ]
    found: list[list[Span]] = [
        [("ARG0", 0, 1), V, ("ARG1", 3, 4), ("ARGM-LOC", 6, 6)],  # 1 right of 3
        [("ARG0", 0, 0)],  # all right: V does not count
        [V, ("ARG0", 0, 1)],  # one too many
    ]
    scores = role_scores(gold, found)
    assert scores["precision"] == pytest.approx(100 * 2 / 5)
    assert scores["recall"] == pytest.approx(100 * 2 / 4)
    assert scores["f1"] == pytest.approx(100 * 4 / 9)
    assert scores["complete"] == pytest.approx(100 / 3)
    assert scores["f1/ARG0"] == pytest.approx(100 * 4 / 5)
    assert scores["f1/ARG1"] == scores["f1/ARGM-TMP"] == 0.0
    assert "f1/V" not in scores
    assert "f1/ARGM-LOC" not in scores  # there is none to find
    examples = [SrlExample(("a",) * 7, 2, tuple(spans)) for spans in gold]
    assert TASK.score(examples, found) == scores
    assert TASK.metric in scores


def test_pieces_are_joined_as_srl_eval_does() -> None:
    gold: list[list[Span]] = [
        [("ARG1", 0, 0), V, ("C-ARG1", 4, 5), ("C-V", 6, 6)],
        [("ARG1", 0, 0), V],
        [("ARG0", 0, 0), V],
    ]
    found: list[list[Span]] = [
        [("ARG1", 0, 0), V, ("C-ARG1", 4, 4)],  # half right: one argument, wrong
        [("C-ARG1", 0, 0), V],  # goes on with nothing: an ARG1 of its own
        [("ARG0", 0, 0), V, ("C-ARG1", 3, 3)],
    ]
    scores = role_scores(gold, found)
    # One by one: ARG1 and ARG0 are right of 5 found and 4 to find.
    assert scores["f1"] == pytest.approx(100 * 4 / 9)
    # Joined: right are the second and the third's ARG0, of 4 found and 3 to find.
    assert scores["joined_f1"] == pytest.approx(100 * 4 / 7)


def test_nothing_to_count() -> None:
    empty = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "joined_f1": 0.0}
    assert role_scores([], []) == empty | {"complete": 0.0}
    assert role_scores([[V]], [[V]]) == empty | {"complete": 100.0}


def test_rare_labels_have_no_figure() -> None:
    gold: list[list[Span]] = [[("ARG0", 0, 0)]] * 399 + [[("ARGA", 0, 0)]]
    assert "f1/ARGA" not in role_scores(gold, gold)
    assert "f1/ARGA" in role_scores(gold[200:], gold[200:])


def test_counts_as_seqeval_does() -> None:
    """An independent count, over tags from which V is taken."""
    random.seed(2)

    def sentence() -> list[Span]:
        choices = ["O", "O", "B-ARG0", "I-ARG0", "B-ARG1", "I-ARG1", "B-V", "B-C-V", "B-C-ARG1"]
        return spans_of([random.choice(choices) for _ in range(12)])

    gold = [sentence() for _ in range(60)]
    found = [
        [span for span in spans if random.random() < 0.7] if random.random() < 0.8 else sentence()
        for spans in gold
    ]
    with_tags = [
        [tags_of([s for s in spans if s[0] not in ("V", "C-V")], 12) for spans in side]
        for side in (gold, found)
    ]
    scores = role_scores(gold, found)
    assert scores["precision"] == pytest.approx(100 * float(precision_score(*with_tags)))
    assert scores["recall"] == pytest.approx(100 * float(recall_score(*with_tags)))
    assert scores["f1"] == pytest.approx(100 * float(f1_score(*with_tags)))
    assert 20 < scores["f1"] < 90
