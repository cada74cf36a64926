from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from elmokit.errors import FormatError, InputError
from elmokit.tasks.classification import (
    MOST_FIGURES,
    Choice,
    asked_tokens,
    check_classes,
    choices,
    class_labels,
    class_losses,
    class_scores,
    class_targets,
    label_field,
)
from elmokit.text.tokenise import WordTokeniser


@dataclass(frozen=True)
class Labelled:
    label: str | None


def labelled(text: str) -> list[Labelled]:
    return [Labelled(label) for label in text.split()]


def chosen(text: str) -> list[Choice]:
    return [Choice(label, {}) for label in text.split()]


def test_classes_are_sorted_by_value_then_alphabet() -> None:
    assert class_labels(labelled("10 b 9 -1 a b")) == {"classes": ["-1", "9", "10", "a", "b"]}


def test_one_class_cannot_be_learnt() -> None:
    with pytest.raises(InputError, match=r"two classes or more to learn, found \['good'\]"):
        class_labels(labelled("good good"))


def test_an_unknown_class_is_named() -> None:
    labels = {"classes": ["bad", "good"]}
    check_classes(labelled("good bad"), labels, Path("dev.jsonl"))
    message = "dev.jsonl: example 2 has a label that .* one of bad, good, found 'odd'"
    with pytest.raises(FormatError, match=message):
        check_classes(labelled("good odd"), labels, Path("dev.jsonl"))


@pytest.mark.parametrize(("value", "label"), [(3, "3"), ("3", "3"), ("very good", "very good")])
def test_a_label_is_a_string_or_a_whole_number(value: object, label: str) -> None:
    assert label_field(Path("f"), 1, {"label": value}) == label


@pytest.mark.parametrize("value", [None, True, 1.5, "", " ", ["a"]])
def test_any_other_label_is_named(value: object) -> None:
    with pytest.raises(FormatError, match=r"f: line 7: key 'label': expected a string or a whole"):
        label_field(Path("f"), 7, {"label": value})


def test_a_missing_label_is_named() -> None:
    with pytest.raises(FormatError, match="f: line 7: key 'label' is missing; found 'tokens'"):
        label_field(Path("f"), 7, {"tokens": []})


def test_targets_number_the_classes() -> None:
    labels = {"classes": ["bad", "good"]}
    assert class_targets(labelled("good bad good"), labels)["label"].tolist() == [1, 0, 1]
    assert class_targets([Labelled(None)], labels) == {}


def test_loss_is_the_negative_log_probability_in_full_precision() -> None:
    scores = torch.tensor([[0.0, 0.0], [0.0, 3.0]], dtype=torch.bfloat16).log1p()
    losses = class_losses(scores, {"label": torch.tensor([0, 1])})
    assert losses.dtype == torch.float32
    torch.testing.assert_close(
        losses, -torch.tensor([0.5, 0.8]).log(), atol=2e-3, rtol=0
    )  # scores log 1 and log 4; 4/5


def test_choices_are_the_most_probable_classes() -> None:
    [first, second] = choices(torch.tensor([[0.0, 3.0], [1.0, 1.0]]).log1p(), ["bad", "good"])
    assert first.label == "good"
    assert first.probabilities == pytest.approx({"bad": 0.2, "good": 0.8})
    assert second == Choice("bad", {"bad": 0.5, "good": 0.5})


def test_scores_of_a_case_worked_by_hand() -> None:
    scores = class_scores(labelled("a a a b b c"), chosen("a a b b a d"))
    # a: 2 hits of 3 right, 3 chosen. b: 1 of 2, 2. c: 0 of 1, 0. d is right nowhere.
    assert scores == pytest.approx(
        {
            "accuracy": 100 * 3 / 6,
            "macro_f1": (100 * 4 / 6 + 100 * 2 / 4 + 0) / 3,
            "f1/a": 100 * 4 / 6,
            "f1/b": 50.0,
            "f1/c": 0.0,
        }
    )


def test_scores_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = torch.Generator().manual_seed(3)
    right = [str(n) for n in torch.randint(0, 5, (200,), generator=generator).tolist()]
    found = [str(n) for n in torch.randint(0, 5, (200,), generator=generator).tolist()]
    scores = class_scores(labelled(" ".join(right)), chosen(" ".join(found)))
    assert scores["accuracy"] == pytest.approx(100 * metrics.accuracy_score(right, found))
    assert scores["macro_f1"] == pytest.approx(
        100 * metrics.f1_score(right, found, average="macro")
    )


def test_only_the_most_frequent_of_many_classes_are_named() -> None:
    names = [f"c{number}" for number in range(40)]
    frequent = names[10:]
    text = " ".join([*names, *frequent])
    scores = class_scores(labelled(text), chosen(text))
    assert {key for key in scores if key.startswith("f1/")} == {f"f1/{n}" for n in frequent}
    assert len(frequent) == MOST_FIGURES
    assert scores["macro_f1"] == 100.0


def test_no_examples_have_no_score() -> None:
    with pytest.raises(InputError, match="at least one example"):
        class_scores([], [])


def test_users_ask_by_text_or_tokens() -> None:
    tokenise = WordTokeniser()
    assert asked_tokens("It's good.", tokenise, "text") == ("It", "'s", "good", ".")
    assert asked_tokens(["It's", "good"], tokenise, "text") == ("It's", "good")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("  ", "text: expected at least one word, found '  '"),
        ([], r"text: expected at least one word, found \[\]"),
        (3, "text: expected a text or a list of tokens, found 3"),
        (["a", ""], r"text: expected a text or a list of tokens, found \['a', ''\]"),
    ],
)
def test_what_cannot_be_asked_is_named(asked: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_tokens(asked, WordTokeniser(), "text")
