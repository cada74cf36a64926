"""Spans, mention scores and antecedent scores against slow ways to compute the same."""

import pytest
import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.joined_linear import JoinedLinear
from elmokit.tasks.coref.antecedents import AntecedentScorer
from elmokit.tasks.coref.clusters import NONE, linked_clusters
from elmokit.tasks.coref.mentions import MentionScorer
from elmokit.tasks.coref.spans import SpanParts, SpanReader, span_vectors

SENTENCES = torch.tensor([0, 0, 0, 1, 2, 2])
WIDEST, ENCODED, INPUT, FEATURE = 3, 5, 4, 2


def parts_of_a_document() -> tuple[SpanReader, SpanParts]:
    torch.manual_seed(0)
    reader = SpanReader(encoded_dim=ENCODED, widest=WIDEST, feature_dim=FEATURE, dropout=0.5).eval()
    count = len(SENTENCES)
    return reader, reader(torch.randn(count, ENCODED), torch.randn(count, INPUT), SENTENCES)


def spans() -> list[tuple[int, int]]:
    return [
        (first, last)
        for first in range(len(SENTENCES))
        for last in range(first, min(first + WIDEST, len(SENTENCES)))
        if SENTENCES[first] == SENTENCES[last]
    ]


def numbers(of: list[tuple[int, int]]) -> Tensor:
    return torch.tensor([first * WIDEST + last - first for first, last in of])


def slow_vector(reader: SpanReader, parts: SpanParts, first: int, last: int) -> Tensor:
    inside = slice(first, last + 1)
    weights = torch.softmax(reader.head(parts.encoded[inside])[:, 0], dim=0)
    head = (weights[:, None] * parts.inputs[inside]).sum(dim=0)
    return torch.cat([parts.encoded[first], parts.encoded[last], head, reader.widths[last - first]])


def through(first_layer: JoinedLinear, others: nn.Module, vector: Tensor) -> Tensor:
    score: Tensor = others(first_layer.joined(vector))[0]
    return score


def test_the_spans_are_those_within_a_sentence_up_to_the_width() -> None:
    _, parts = parts_of_a_document()

    found = parts.exists.flatten().nonzero()[:, 0].tolist()

    assert found == numbers(spans()).tolist()
    assert len(found) == 6 + 2 + 1 + 1  # all single tokens, and what is wider


def test_span_vectors_are_ends_head_and_width() -> None:
    reader, parts = parts_of_a_document()

    vectors = span_vectors(parts, numbers(spans()))

    expected = torch.stack([slow_vector(reader, parts, *span) for span in spans()])
    torch.testing.assert_close(vectors, expected)


def test_mention_scores_are_those_of_a_network_over_span_vectors() -> None:
    _, parts = parts_of_a_document()
    scorer = MentionScorer(
        encoded_dim=ENCODED, input_dim=INPUT, feature_dim=FEATURE,
        hidden_dim=7, hidden_layers=2, dropout=0.5,
    ).eval()  # fmt: skip

    scores = scorer(parts)

    vectors = span_vectors(parts, numbers(spans()))
    expected = [through(scorer.first_layer, scorer.other_layers, vector) for vector in vectors]
    torch.testing.assert_close(scores[parts.exists], torch.stack(expected))
    assert (scores[~parts.exists] < -1000).all()


@pytest.mark.parametrize("antecedents", [1, 3, 50])
def test_antecedent_scores_are_the_sum_of_four(antecedents: int) -> None:
    torch.manual_seed(0)
    count, size = 80, 6
    scorer = AntecedentScorer(
        span_dim=size, antecedents=antecedents, coarse_dim=9, feature_dim=FEATURE,
        hidden_dim=7, hidden_layers=2, dropout=0.5,
    ).eval()  # fmt: skip
    vectors, mentions = torch.randn(count, size), torch.randn(count)

    found = scorer(vectors, mentions)

    for span in (0, 1, 5, 79):
        coarse = {
            before: mentions[span]
            + mentions[before]
            + scorer.coarse_span(vectors[span]) @ scorer.coarse_antecedent(vectors[before]) / 3
            for before in range(span)
        }
        likeliest = sorted(coarse, key=lambda before: -coarse[before].item())[:antecedents]
        places = found.places[span][found.exists[span]].tolist()
        assert sorted(places) == sorted(likeliest)
        for before, score in zip(places, found.scores[span][found.exists[span]], strict=True):
            pair = torch.cat(
                [
                    vectors[span],
                    vectors[before],
                    vectors[span] * vectors[before],
                    scorer.distance_vectors[slow_bucket(span - before)],
                ]
            )
            compared = through(scorer.first_layer, scorer.other_layers, pair)
            torch.testing.assert_close(score, coarse[before] + compared)
        assert (found.scores[span][~found.exists[span]] < -1000).all()


def slow_bucket(distance: int) -> int:
    ranges = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 7), (8, 15), (16, 31), (32, 63), (64, 10**9)]
    return 1 + next(place for place, (low, high) in enumerate(ranges) if low <= distance <= high)


def test_a_single_span_has_no_antecedents() -> None:
    scorer = AntecedentScorer(
        span_dim=6, antecedents=50, coarse_dim=9, feature_dim=FEATURE,
        hidden_dim=7, hidden_layers=1, dropout=0.0,
    )  # fmt: skip

    assert not scorer(torch.randn(1, 6), torch.randn(1)).exists.any()


def test_links_make_clusters() -> None:
    places = [(0, 0), (2, 2), (4, 5), (7, 7), (9, 9), (11, 11)]
    antecedents = [NONE, 0, NONE, 1, NONE, 2]

    assert linked_clusters(places, antecedents, [False] * 6) == [
        [(0, 0), (2, 2), (7, 7)],
        [(4, 5), (11, 11)],
    ]
    alone = [False, True, False, True, True, False]
    assert linked_clusters(places, antecedents, alone)[-1] == [(9, 9)]
    assert linked_clusters([], [], []) == []
