"""One class for each example: what the tasks that choose a class have in common.

A class is a string; whole numbers in a file are taken as written, so 3 and "3" are one class.

B examples of a batch, C classes
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from elmokit.errors import FormatError, InputError
from elmokit.tasks.task import Labels, Targets, Tokenise
from elmokit.text.records import problem

MOST_FIGURES = 30
"""Classes, or other parts of the examples, that a score speaks of one by one."""


class Labelled(Protocol):
    """An example that belongs to a class."""

    @property
    def label(self) -> str | None:
        """The class, or None where it is asked for."""
        ...


class Choice(NamedTuple):
    """What a model holds of an example."""

    label: str
    """The most probable class."""
    probabilities: dict[str, float]
    """For each class; they add up to 1."""


def label_field(file: Path, number: int, record: dict[str, Any], name: str = "label") -> str:
    """Give the class of a record."""
    if name not in record:
        found = ", ".join(map(repr, record))
        raise problem(file, number, f"key {name!r} is missing; found {found}")
    label = record[name]
    if not (type(label) is int or (isinstance(label, str) and label.strip())):
        raise problem(
            file, number, f"key {name!r}: expected a string or a whole number, found {label!r}"
        )
    return str(label)


def class_labels(examples: Sequence[Labelled]) -> Labels:
    """Give the classes of training examples: numbers by value, then the others by alphabet."""
    classes = sorted({e.label for e in examples if e.label is not None}, key=_by_value)
    if len(classes) < 2:
        raise InputError(f"labels: expected two classes or more to learn, found {classes}")
    return {"classes": classes}


def check_classes(examples: Sequence[Labelled], labels: Labels, file: Path) -> None:
    """Raise an error where an example's class was not among those that were learnt."""
    for number, example in enumerate(examples, start=1):
        if example.label not in labels["classes"]:
            raise FormatError(
                file,
                f"example {number} has a label that the training data lack",
                expected=f"one of {', '.join(labels['classes'])}",
                found=repr(example.label),
            )


def class_targets(examples: Sequence[Labelled], labels: Labels) -> Targets:
    """Give the number of each example's class as ``label`` (B,); nothing where one has none."""
    numbers = {label: number for number, label in enumerate(labels["classes"])}
    if any(example.label is None for example in examples):
        return {}
    return {"label": torch.tensor([numbers[example.label or ""] for example in examples])}


def class_losses(scores: Tensor, targets: Targets) -> Tensor:
    """Give the negative log-probability (B,) of the right classes from scores (B, C)."""
    return F.cross_entropy(scores.float(), targets["label"], reduction="none")


def choices(scores: Tensor, classes: Sequence[str]) -> list[Choice]:
    """Choose a class for each example from scores (B, C)."""
    probabilities = torch.softmax(scores.float(), dim=1).tolist()
    return [
        Choice(classes[row.index(max(row))], dict(zip(classes, row, strict=True)))
        for row in probabilities
    ]


def class_scores(examples: Sequence[Labelled], chosen: Sequence[Choice]) -> dict[str, float]:
    """Give ``accuracy``, ``macro_f1`` and ``f1/<class>``, in per cent.

    The classes are those that are right somewhere. ``macro_f1`` is the mean of their F1;
    ``f1/<class>`` is given for the `MOST_FIGURES` most frequent ones.
    """
    pairs = [(str(e.label), choice.label) for e, choice in zip(examples, chosen, strict=True)]
    if not pairs:
        raise InputError("score: expected at least one example, found none")
    of_right = Counter(right for right, _ in pairs)
    of_chosen = Counter(choice for _, choice in pairs)
    hits = Counter(right for right, choice in pairs if right == choice)
    f1 = {
        label: 200 * hits[label] / (count + of_chosen[label])
        for label, count in of_right.most_common()
    }
    scores = {"accuracy": 100 * hits.total() / len(pairs), "macro_f1": sum(f1.values()) / len(f1)}
    named = sorted(list(f1)[:MOST_FIGURES], key=_by_value)
    return scores | {f"f1/{label}": f1[label] for label in named}


def asked_tokens(text: Any, tokenise: Tokenise, name: str) -> tuple[str, ...]:
    """Give the tokens of what a user asks about: a text, or the list of its tokens."""
    if isinstance(text, str):
        tokens = tuple(token.text for token in tokenise(text))
    elif isinstance(text, list | tuple) and all(isinstance(t, str) and t for t in text):
        tokens = tuple(text)
    else:
        raise InputError(f"{name}: expected a text or a list of tokens, found {text!r}")
    if not tokens:
        raise InputError(f"{name}: expected at least one word, found {text!r}")
    return tokens


def shown_choice(answer: Mapping[str, Any]) -> str:
    """Give ``label`` and its place in ``probabilities`` as people read them: ``good (83.1 %)``."""
    label = answer["label"]
    return f"{label} ({100 * answer['probabilities'][label]:.1f} %)"


def _by_value(label: str) -> tuple[int, int, str]:
    if re.fullmatch(r"-?[0-9]{1,18}", label):
        return 0, int(label), label
    return 1, 0, label
