import pytest

from elmokit.tasks.classification import MOST_FIGURES, Choice
from elmokit.tasks.snli.data import SnliExample
from elmokit.tasks.snli.metric import pair_scores


def examples(*labels_and_kinds: tuple[str, str | None]) -> list[SnliExample]:
    return [SnliExample(("a",), ("b",), label, kind) for label, kind in labels_and_kinds]


def chosen(*labels: str) -> list[Choice]:
    return [Choice(label, {}) for label in labels]


def test_a_case_worked_by_hand() -> None:
    found = pair_scores(
        examples(("yes", "colour"), ("no", "colour"), ("no", "number"), ("yes", None)),
        chosen("yes", "yes", "no", "no"),
    )
    assert found == pytest.approx(
        {
            "accuracy": 50.0,
            "macro_f1": 50.0,
            "f1/no": 50.0,
            "f1/yes": 50.0,
            "accuracy/colour": 50.0,
            "accuracy/number": 100.0,
        }
    )


def test_pairs_without_kinds_have_no_figures_by_kind() -> None:
    found = pair_scores(examples(("yes", None), ("no", None)), chosen("yes", "no"))
    assert set(found) == {"accuracy", "macro_f1", "f1/no", "f1/yes"}


def test_of_many_kinds_the_most_frequent_are_named() -> None:
    kinds = [f"kind {number:02}" for number in range(40)]
    frequent = kinds[5 : 5 + MOST_FIGURES]
    pairs = examples(*[("yes", kind) for kind in [*kinds, *frequent]])
    found = pair_scores(pairs, chosen(*["yes"] * len(pairs)))
    assert [key for key in found if key.startswith("accuracy/")] == [
        f"accuracy/{kind}" for kind in frequent
    ]
