"""Spans and tags, and what may follow what."""

import itertools
import random

import pytest
import torch

from elmokit.errors import InputError
from elmokit.tasks.blocks.bio import (
    Scheme,
    Span,
    allowed_ends,
    allowed_starts,
    allowed_transitions,
    spans_of,
    tags_of,
)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", []),
        ("O O", []),
        ("B-X I-X O B-Y", [("X", 0, 1), ("Y", 3, 3)]),
        ("B-X B-X I-X", [("X", 0, 0), ("X", 1, 2)]),
        # IOB1: B only between two spans of one label.
        ("I-X I-X B-X O I-Y I-X", [("X", 0, 1), ("X", 2, 2), ("Y", 4, 4), ("X", 5, 5)]),
        ("S-X B-Y I-Y E-Y S-Y E-Y", [("X", 0, 0), ("Y", 1, 3), ("Y", 4, 4), ("Y", 5, 5)]),
        ("U-X B-Y L-Y I-Y", [("X", 0, 0), ("Y", 1, 2), ("Y", 3, 3)]),
        # Broken ones: no beginning, no end, a label that changes.
        ("O I-X", [("X", 1, 1)]),
        ("B-X I-Y", [("X", 0, 0), ("Y", 1, 1)]),
        ("B-X B-Y E-Y", [("X", 0, 0), ("Y", 1, 2)]),
        ("B-C-ARG1 I-C-ARG1", [("C-ARG1", 0, 1)]),
    ],
)
def test_spans_of_tags(tags: str, spans: list[Span]) -> None:
    assert spans_of(tags.split()) == spans


@pytest.mark.parametrize("scheme", ["BIO", "IOBES"])
def test_tags_give_their_spans_back(scheme: Scheme) -> None:
    random.seed(3)
    for _ in range(200):
        spans, place = [], 0
        while place < 12:
            last = min(11, place + random.choice([0, 0, 1, 3]))
            if random.random() < 0.6:
                spans.append((random.choice("XY"), place, last))
            place = last + 1
        tags = tags_of(spans, 12, scheme)
        assert spans_of(tags) == spans
        every = [
            "O", *(f"{p}-{label}" for p in ("BI" if scheme == "BIO" else "BIES") for label in "XY"),
        ]  # fmt: skip
        numbers = [every.index(tag) for tag in tags]
        follows = allowed_transitions(every)
        assert all(follows[a, b] for a, b in itertools.pairwise(numbers))
        assert allowed_starts(every)[numbers[0]]
        assert allowed_ends(every)[numbers[-1]]


def test_tags_of_both_schemes() -> None:
    spans = [("X", 0, 2), ("Y", 4, 4), ("X", 5, 6)]
    assert tags_of(spans, 8) == ["B-X", "I-X", "I-X", "O", "B-Y", "B-X", "I-X", "O"]
    assert tags_of(spans, 8, "IOBES") == ["B-X", "I-X", "E-X", "O", "S-Y", "B-X", "E-X", "O"]


def test_rules_of_bio() -> None:
    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    assert allowed_transitions(tags).int().tolist() == [
        [1, 1, 0, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]
    assert allowed_starts(tags).tolist() == [True, True, False, True, False]
    assert allowed_ends(tags).all()


def test_rules_of_iobes() -> None:
    tags = ["O", "B-X", "I-X", "E-X", "S-X", "S-Y"]
    assert allowed_transitions(tags).int().tolist() == [
        [1, 1, 0, 0, 1, 1],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 1],
        [1, 1, 0, 0, 1, 1],
        [1, 1, 0, 0, 1, 1],
    ]
    assert allowed_starts(tags).int().tolist() == [1, 1, 0, 0, 1, 1]
    assert allowed_ends(tags).int().tolist() == [1, 0, 0, 1, 1, 1]
    assert allowed_ends(tags).dtype == torch.bool


def test_what_cannot_be_read() -> None:
    with pytest.raises(InputError, match="found 'X-Y'"):
        spans_of(["X-Y"])
    with pytest.raises(InputError, match="found 'B'"):
        allowed_transitions(["O", "B"])
    with pytest.raises(InputError, match=r"\('Y', 1, 2\) overlaps"):
        tags_of([("X", 0, 1), ("Y", 1, 2)], 4)
    with pytest.raises(InputError, match="within 4 tokens"):
        tags_of([("X", 2, 4)], 4)
