"""The model of semantic roles."""

import pytest
import torch

from elmokit.errors import InputError
from elmokit.tasks.srl.data import SrlExample
from elmokit.tasks.srl.model import SrlModel
from elmokit.tasks.srl.settings import SrlModelSettings
from elmokit.tasks.srl.task import TASK
from elmokit.tasks.task import Labels, Targets, TextVectors
from task_vectors import text_vectors, trained

SMALL = SrlModelSettings(hidden_dim=24, layers=4, predicate_dim=8, dropout=0.0)


def sentence(text: str, *frames: str) -> list[SrlExample]:
    """Make examples from ``ARG0:0-1 V:2-2``; the predicate is where V begins."""
    examples = []
    for frame in frames:
        spans = []
        for part in frame.split():
            label, _, places = part.rpartition(":")
            first, last = map(int, places.split("-"))
            spans.append((label, first, last))
        predicate = next(first for label, first, _ in spans if label == "V")
        examples.append(SrlExample(tuple(text.split()), predicate, tuple(spans)))
    return examples


EXAMPLES = [
    *sentence(
        "the cat wanted to chase a mouse .",
        "ARG0:0-1 V:2-2 ARG1:3-6",
        "ARG0:0-1 V:4-4 ARG1:5-6",
    ),
    *sentence("mice that cats chase run", "ARG1:0-0 R-ARG1:1-1 ARG0:2-2 V:3-3", "ARG0:0-3 V:4-4"),
    *sentence("yesterday she slept", "ARGM-TMP:0-0 ARG0:1-1 V:2-2"),
    *sentence("stop", "V:0-0"),
    *sentence("it , she said , was late", "ARG1:0-1 ARG0:2-2 V:3-3 C-ARG1:4-6", "ARG1:0-0 V:5-5"),
    *sentence("a cat slept and ran", "ARG0:0-1 V:2-2", "ARG0:0-1 V:4-4"),
]


def built(labels: Labels, output_dim: int = 0, settings: SrlModelSettings = SMALL) -> SrlModel:
    torch.manual_seed(0)
    model = TASK.build(settings, input_dim=24, output_dim=output_dim, labels=labels)
    assert isinstance(model, SrlModel)
    return model


def batch(examples: list[SrlExample], output_dim: int = 0) -> tuple[list[TextVectors], Targets]:
    texts = [text_vectors(role, output_size=output_dim) for role in TASK.texts(examples)]
    return texts, TASK.targets(examples, TASK.labels(EXAMPLES))


@pytest.mark.parametrize("output_dim", [0, 10])
def test_learns_examples_by_heart(output_dim: int) -> None:
    labels = TASK.labels(EXAMPLES)
    model = built(labels, output_dim)
    predictions = trained(
        TASK, EXAMPLES, model=model, labels=labels, steps=120, rate=1e-2, output_size=output_dim
    )
    assert TASK.score(EXAMPLES, predictions)["f1"] == 100.0
    assert TASK.score(EXAMPLES, predictions)["complete"] == 100.0
    assert [tuple(spans) for spans in predictions] == [example.spans for example in EXAMPLES]
    # The same sentence with another predicate has other roles: the mark is what tells.
    texts, _ = batch(EXAMPLES[:1], output_dim)
    asked = TASK.parse({"tokens": EXAMPLES[0].tokens, "pred": 4}, lambda text: [], labels)
    with torch.no_grad():
        (found,) = model.predict(texts, TASK.targets(asked, labels))
    assert tuple(found) == EXAMPLES[1].spans


@pytest.mark.parametrize("output_dim", [0, 10])
def test_an_example_does_not_depend_on_its_batch(output_dim: int) -> None:
    model = built(TASK.labels(EXAMPLES), output_dim).eval()
    together = model.losses(*batch(EXAMPLES, output_dim))
    assert together.shape == (len(EXAMPLES),)
    assert together.dtype == torch.float32
    for number, example in enumerate(EXAMPLES):
        alone = model.losses(*batch([example], output_dim))
        torch.testing.assert_close(alone[0], together[number], atol=1e-5, rtol=0)
        assert model.predict(*batch([example], output_dim)) == [
            model.predict(*batch(EXAMPLES, output_dim))[number]
        ]


def test_loss_is_the_mean_over_tokens() -> None:
    """Scores are made equal: each of the C tags is as likely, whatever the length."""
    labels = TASK.labels(EXAMPLES)
    model = built(labels)
    torch.nn.init.zeros_(model.scores.weight)
    torch.nn.init.zeros_(model.scores.bias)
    losses = model.losses(*batch(EXAMPLES))
    tags = 1 + 2 * len(labels["roles"])
    torch.testing.assert_close(losses, torch.full_like(losses, tags).log())
    # O at all tokens of 3, with a score of ln 3 more than each other tag.
    (example,) = sentence("yesterday she slept", "V:2-2")
    with torch.no_grad():
        model.scores.bias[0] = torch.tensor(3.0).log()
    expected = (tags + 2) * torch.tensor([1 / 3, 1 / 3, 1.0])
    torch.testing.assert_close(model.losses(*batch([example]))[0], expected.log().mean())


def test_unknown_labels_do_not_count() -> None:
    model = built(TASK.labels(EXAMPLES)).eval()
    known, unknown = sentence("she slept", "ARG0:0-0 V:1-1", "NEW:0-0 V:1-1")
    wholly = SrlExample(("she",), 0, (("NEW", 0, 0),))
    losses = model.losses(*batch([known, unknown, wholly]))
    texts, targets = batch([known])
    both = model._scores(texts, targets).log_softmax(dim=2)[0]
    own = -both[torch.arange(2), targets["tags"][0]]
    torch.testing.assert_close(losses[:2], torch.stack([own.mean(), own[1]]))
    assert losses[2] == 0.0


def test_predictions_keep_the_rules() -> None:
    """Whatever the weights, no I without its B."""
    labels = TASK.labels(EXAMPLES)
    model = built(labels).eval()
    texts, targets = batch(EXAMPLES)
    with torch.no_grad():
        # I-ARG0 alone is likely everywhere; it must not stand first.
        model.scores.bias[model.tags.index("I-ARG0")] = 50.0
        model.scores.bias[model.tags.index("B-ARG0")] = 20.0
    for example, spans in zip(EXAMPLES, model.predict(texts, targets), strict=True):
        assert spans == [("ARG0", 0, len(example.tokens) - 1)]


def test_all_weights_are_trained_and_padding_is_harmless() -> None:
    model = built(TASK.labels(EXAMPLES), 10, SrlModelSettings(
        hidden_dim=6, layers=3, predicate_dim=2, dropout=0.3))  # fmt: skip
    losses = model.losses(*batch(EXAMPLES, 10))
    losses.mean().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name
    assert not any(name in model.state_dict() for name in ("transitions", "starts", "ends"))


def test_settings() -> None:
    defaults = TASK.defaults()
    assert defaults.model == SrlModelSettings(
        hidden_dim=300, layers=8, predicate_dim=100, dropout=0.1
    )
    assert defaults.changed(["layers=2"]).to_dict()["model"]["layers"] == 2
    with pytest.raises(InputError, match="layers: expected 1 or more, found 0"):
        SrlModelSettings(layers=0)
    with pytest.raises(InputError, match=r"dropout: expected 0 up to but not 1, found 1\.0"):
        SrlModelSettings(dropout=1.0)
