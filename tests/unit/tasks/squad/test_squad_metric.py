import random
from typing import Any

import pytest
from torchmetrics.functional.text import squad

from elmokit.tasks.squad.metric import exact_match, f1, normalised


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Quick,  brown\tfox!", "quick brown fox"),
        ("a an the", ""),
        ("an-other theatre", "another theatre"),  # no article: punctuation goes first
        ("U.S.A.", "usa"),
        ("the-end", "theend"),
        ("A.", ""),
        ("ÉCOLE  “à la” carte", "école “à la” carte"),  # only ASCII marks are dropped
        ("\u2014the\u2014", "\u2014 \u2014"),
        ("$1,000", "1000"),
        ("", ""),
    ],
)
def test_normalised(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("prediction", "answers", "match", "overlap"),
    [
        ("the Denver Broncos", ["Denver Broncos"], 1, 1.0),
        ("Denver Broncos!", ["Carolina Panthers", "denver broncos"], 1, 1.0),
        # 1 common word of 2 and 1: precision 1/2, recall 1
        ("Denver Broncos", ["Denver"], 0, 2 / 3),
        # precision 2/4, recall 2/3: 4/7; with the other answer 2/5
        ("one two three four", ["two four six", "four"], 0, 4 / 7),
        # A word counts as often as both have it: 1 common of 3 and 2
        ("no no no", ["no yes"], 0, 2 / 5),
        ("three", ["two"], 0, 0.0),
        ("", ["two"], 0, 0.0),
        ("the", ["The"], 1, 0.0),  # nothing is left of either
        ("東京", ["東京"], 1, 1.0),
        ("10–12", ["10-12"], 0, 0.0),  # a dash of Unicode stays
    ],
)
def test_scores_worked_by_hand(
    prediction: str, answers: list[str], match: int, overlap: float
) -> None:
    assert exact_match(prediction, answers) == match
    assert f1(prediction, answers) == pytest.approx(overlap)


def test_random_answers_score_as_torchmetrics_does() -> None:
    source = random.Random(0)
    words = ["the", "a", "Fox", "fox,", "an-1", "U.S.A.", "$1,000", "–", "“la”", "École"]

    def phrase(least: int) -> str:
        return " ".join(source.choices(words, k=source.randint(least, 5)))

    for _ in range(300):
        prediction, answers = phrase(0), [phrase(1) for _ in range(source.randint(1, 3))]
        if not normalised(prediction):
            continue  # then it follows SQuAD 2.0's script, where no answer may be right
        gold: Any = {"answers": {"answer_start": [0] * len(answers), "text": answers}, "id": "1"}
        theirs = squad([{"prediction_text": prediction, "id": "1"}], [gold])
        assert exact_match(prediction, answers) == theirs["exact_match"].item() / 100
        # Theirs is in float32.
        assert f1(prediction, answers) == pytest.approx(theirs["f1"].item() / 100, abs=1e-6)
