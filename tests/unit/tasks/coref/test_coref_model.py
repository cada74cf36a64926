"""The coreference model: its loss, its predictions, and that it learns."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.tasks.coref.antecedents import Antecedents
from elmokit.tasks.coref.data import CorefDocument
from elmokit.tasks.coref.model import CorefModel, antecedent_loss
from elmokit.tasks.coref.settings import CorefSettings
from elmokit.tasks.coref.task import TASK
from elmokit.tasks.task import TextVectors
from task_vectors import text_vectors, trained

SMALL = CorefSettings(
    lstm_dim=16, lstm_dropout=0.0, widest=4, coarse_dim=8, hidden_dim=24, feature_dim=4,
    dropout=0.0, spans_per_token=0.6,
)  # fmt: skip
NAMES = ("Anna", "Mary", "Jane", "Bob", "Tom", "Karl")


def story(number: int, *, singletons: bool) -> CorefDocument:
    """A document about two people, with a dog that is mentioned once."""
    hero, friend = NAMES[number % 3], NAMES[3 + number // 3 % 3]
    sentences = (
        (hero, "met", friend, "."),
        ("She", "greeted", "him", "and", "the", "old", "dog", "."),
        (friend, "smiled", "."),
        ("Yes",),
    )
    clusters: list[tuple[tuple[int, int], ...]] = [((0, 0), (4, 4)), ((2, 2), (6, 6), (12, 12))]
    if singletons:
        clusters.append(((8, 10),))
    return CorefDocument(f"story {number}", sentences, tuple(clusters))


def model_of(
    *, singletons: bool = True, output_dim: int = 0, settings: CorefSettings = SMALL
) -> CorefModel:
    torch.manual_seed(0)
    return TASK.build(
        settings, input_dim=24, output_dim=output_dim, labels={"singletons": singletons}
    )


def batch_of(
    document: CorefDocument, output_size: int = 0
) -> tuple[list[TextVectors], dict[str, Tensor]]:
    texts = [text_vectors(role, output_size=output_size) for role in TASK.texts([document])]
    return texts, TASK.targets([document], {})


@pytest.mark.parametrize("singletons", [False, True])
@pytest.mark.parametrize("output_dim", [0, 6])
def test_documents_are_learnt(singletons: bool, output_dim: int) -> None:
    documents = [story(number, singletons=singletons) for number in range(9)]
    labels = TASK.labels(documents)
    assert labels == {"singletons": singletons}
    model = model_of(singletons=singletons, output_dim=output_dim)
    batches = [batch_of(document, output_dim) for document in documents]
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(25):
        for texts, targets in batches:
            optimiser.zero_grad()
            model.losses(texts, targets).sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    model.eval()
    with torch.no_grad():
        found = [model.predict(*batch)[0] for batch in batches]

    scores = TASK.score(documents, found)

    assert scores[TASK.metric] == pytest.approx(100.0)
    assert scores["mention_f1"] == pytest.approx(100.0)


def test_one_document_is_learnt_by_the_helper_of_all_tasks() -> None:
    document = story(4, singletons=True)
    labels = TASK.labels([document])

    found = trained(TASK, [document], model=model_of(), labels=labels, steps=120)

    assert TASK.score([document], found)["f1"] == pytest.approx(100.0)


def test_the_loss_is_that_of_all_gold_antecedents_together() -> None:
    low = -1e4
    scores = torch.tensor([[low, low], [1.0, low], [2.0, 0.5], [-1.0, 3.0]])
    places = torch.tensor([[0, 1], [0, 1], [0, 1], [2, 0]])
    exists = scores > low
    clusters = torch.tensor([1, 1, 1, 0])

    loss = antecedent_loss(Antecedents(scores, places, exists), clusters)

    e = math.exp
    second = math.log(1 + e(1)) - 1
    third = math.log(1 + e(2) + e(0.5)) - math.log(e(2) + e(0.5))
    last = math.log(1 + e(-1) + e(3))  # it has no antecedent, whose score is 0
    assert loss.item() == pytest.approx(second + third + last, rel=1e-5)


def test_spans_that_are_no_mentions_do_not_go_together() -> None:
    scores = torch.tensor([[-1e4], [2.0]])
    places = torch.zeros(2, 1, dtype=torch.long)

    loss = antecedent_loss(Antecedents(scores, places, scores > 0), torch.tensor([0, 0]))

    assert loss.item() == pytest.approx(math.log(1 + math.exp(2)), rel=1e-5)


def test_the_mention_loss_is_added_with_its_weight() -> None:
    document = story(0, singletons=True)
    texts, targets = batch_of(document)
    model = model_of(settings=replace(SMALL, mention_weight=0.5)).eval()
    without = model_of(settings=replace(SMALL, mention_weight=0.0)).eval()
    parts, scores = model._mention_scores(texts[0], targets)
    gold = {mention for cluster in document.clusters or () for mention in cluster}

    total = 0.0
    for first, width in parts.exists.nonzero().tolist():
        odds = scores[first, width].item()
        is_mention = (first, first + width) in gold
        total += math.log1p(math.exp(-odds if is_mention else odds))
    kept = int(0.6 * 16)

    difference = model.losses(texts, targets) - without.losses(texts, targets)
    assert difference.item() == pytest.approx(0.5 * total / kept, rel=1e-4)


def test_padding_changes_nothing() -> None:
    texts, targets = batch_of(story(0, singletons=True), output_size=6)
    model = model_of(output_dim=6).eval()
    text = texts[0]
    assert text.at_output is not None

    def wider(tensor: Tensor, value: float) -> Tensor:
        return torch.cat([tensor, torch.full_like(tensor[:, :3], value)], dim=1)

    padded = TextVectors(
        wider(text.inputs, 0.0),
        wider(text.at_output, 0.0),
        wider(text.mask, False),
        wider(text.words, -1),
    )

    torch.testing.assert_close(model.losses([padded], targets), model.losses(texts, targets))
    assert model.predict([padded], targets) == model.predict(texts, targets)


@pytest.mark.parametrize(
    "document",
    [
        CorefDocument("one token", (("Hm",),), (((0, 0),),)),
        CorefDocument("one sentence", (("a", "b"),), ()),
        CorefDocument("short ones", (("a",), ("b",), ("c",)), (((0, 0), (2, 2)),)),
        CorefDocument("wide", (tuple("abcdefgh"),), (((0, 7), (1, 6)), ((2, 2),))),
    ],
    ids=lambda document: document.name,
)
@pytest.mark.parametrize("mention_weight", [0.0, 1.0])
def test_any_document_has_a_finite_loss_and_gradient(
    document: CorefDocument, mention_weight: float
) -> None:
    texts, targets = batch_of(document)
    model = model_of(settings=replace(SMALL, mention_weight=mention_weight))

    losses = model.losses(texts, targets)
    losses.sum().backward()  # type: ignore[no-untyped-call]

    assert losses.shape == (1,)
    assert losses.dtype == torch.float32
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert torch.isfinite(losses).all()
    assert gradients
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_mentions_found_stay_in_their_sentence_and_clusters_are_disjoint() -> None:
    document = CorefDocument("", tuple(tuple("abc"[: 1 + n % 3]) for n in range(20)))
    texts, targets = batch_of(document)
    sentence_of = [n for n, sentence in enumerate(document.sentences) for _ in sentence]
    model = model_of().eval()
    torch.nn.init.constant_(model.mention_scorer.other_layers[-1].bias, 1.0)  # type: ignore[arg-type]

    [clusters] = model.predict(texts, targets)

    mentions = [mention for cluster in clusters for mention in cluster]
    assert mentions
    assert len(set(mentions)) == len(mentions)
    assert all(sentence_of[first] == sentence_of[last] for first, last in mentions)


def test_spans_that_are_linked_with_none_are_clusters_only_where_there_are_singletons() -> None:
    texts, targets = batch_of(story(0, singletons=True))

    def alone(*, singletons: bool, bias: float) -> int:
        model = model_of(singletons=singletons).eval()
        for scorer, value in ((model.mention_scorer, bias), (model.antecedent_scorer, -50.0)):
            torch.nn.init.constant_(scorer.other_layers[-1].bias, value)  # type: ignore[arg-type]
        [clusters] = model.predict(texts, targets)
        assert all(len(cluster) == 1 for cluster in clusters)
        return len(clusters)

    assert alone(singletons=True, bias=5.0) == int(0.6 * 16)
    assert alone(singletons=True, bias=-5.0) == 0
    assert alone(singletons=False, bias=5.0) == 0


def test_lower_precision_gives_a_finite_loss_in_float32() -> None:
    texts, targets = batch_of(story(0, singletons=True), output_size=6)
    model = model_of(output_dim=6)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = model.losses(texts, targets)

    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses, model.losses(texts, targets), rtol=0.05, atol=0.05)


def test_the_same_seed_drops_the_same() -> None:
    texts, targets = batch_of(story(0, singletons=True))
    model = model_of(settings=CorefSettings(lstm_dim=16, hidden_dim=24))

    def loss(seed: int) -> float:
        torch.manual_seed(seed)
        return model.losses(texts, targets).item()

    assert loss(1) == loss(1)
    assert loss(1) != loss(2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"widest": 0}, "widest: expected 1 or more, found 0"),
        ({"dropout": 1.0}, "dropout: expected 0 up to but not 1, found 1.0"),
        ({"spans_per_token": 1.5}, "spans_per_token: expected above 0 and up to 1, found 1.5"),
        ({"mention_weight": -1.0}, "mention_weight: expected 0 or more, found -1.0"),
    ],
)
def test_settings_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CorefSettings(**change)
