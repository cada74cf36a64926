import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from elmokit.errors import FormatError, InputError
from elmokit.tasks.classification import Choice
from elmokit.tasks.snli.data import SnliExample
from elmokit.tasks.snli.model import SnliModel
from elmokit.tasks.snli.settings import SnliSettings
from elmokit.tasks.snli.task import TASK
from elmokit.tasks.task import Task
from elmokit.text.tokenise import WordTokeniser
from task_vectors import text_vectors, trained

LABELS = {"classes": ["contradiction", "entailment", "neutral"]}
EXAMPLES = [
    SnliExample(tuple(premise.split()), tuple(hypothesis.split()), label)
    for premise, hypothesis, label in [
        ("a man runs", "a man moves", "entailment"),
        ("a man runs", "nobody moves", "contradiction"),
        ("nobody moves", "a man runs", "contradiction"),
        ("a man moves", "a man runs", "neutral"),
        ("two women sleep in a red car near the old harbour", "women sleep", "entailment"),
        ("women sleep", "two women sleep in a red car near the old harbour", "neutral"),
        ("rain", "rain", "entailment"),
        ("rain", "sun", "contradiction"),
        ("rain", "it rains in Paris , not in London", "neutral"),
    ]
]


def model(output_dim: int = 0, **changes: Any) -> SnliModel:
    torch.manual_seed(5)
    settings = SnliSettings(**({"hidden_dim": 16} | changes))
    return TASK.build(settings, input_dim=24, output_dim=output_dim, labels=LABELS)


def vectors(examples: list[SnliExample], output_dim: int = 0) -> Any:
    return [text_vectors(role, 24, output_dim) for role in TASK.texts(examples)]


def losses(network: SnliModel, examples: list[SnliExample], output_dim: int = 0) -> torch.Tensor:
    return network.losses(vectors(examples, output_dim), TASK.targets(examples, LABELS))


def test_it_is_a_task() -> None:
    task: Task[SnliExample] = TASK
    assert (task.name, task.title, task.metric) == ("snli", "SNLI", "accuracy")


def test_labels_and_check() -> None:
    assert TASK.labels(EXAMPLES) == LABELS
    TASK.check(EXAMPLES, LABELS, Path("dev"))
    with pytest.raises(FormatError, match=r"example 1 has a label .* found 'odd'"):
        TASK.check([SnliExample(("a",), ("b",), "odd")], LABELS, Path("dev"))


@pytest.mark.parametrize("output_dim", [0, 7])
def test_a_pair_counts_the_same_alone_and_in_any_batch(output_dim: int) -> None:
    network = model(output_dim).eval()
    together = losses(network, EXAMPLES, output_dim)
    assert together.dtype == torch.float32
    alone = torch.cat([losses(network, [example], output_dim) for example in EXAMPLES])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_padding_does_not_count_whatever_stands_there() -> None:
    network = model(output_dim=7).eval()
    texts = vectors(EXAMPLES, 7)
    dirty = []
    for text in texts:
        padding = ~text.mask[:, :, None]
        inputs = torch.where(padding, 100.0, text.inputs)
        at_output = torch.where(padding, -100.0, text.at_output)
        dirty.append(text._replace(inputs=inputs, at_output=at_output))
    torch.testing.assert_close(network(*texts), network(*dirty))


def test_loss_without_knowledge_is_that_of_chance() -> None:
    network = model().eval()
    for parameter in network.output.parameters():
        nn.init.zeros_(parameter)
    expected = torch.full((len(EXAMPLES),), 3.0).log()
    torch.testing.assert_close(losses(network, EXAMPLES), expected)


def test_stacked_texts_equal_separate_ones() -> None:
    """The model as the paper writes it, premise and hypothesis each by themselves."""
    network = model().eval()
    pair = EXAMPLES[4]
    premise, hypothesis = vectors([pair])
    a = network.encoder(premise.inputs, premise.mask)[0]
    b = network.encoder(hypothesis.inputs, hypothesis.mask)[0]
    likeness = a @ b.T
    pooled = []
    for own, other, scores in ((a, b, likeness), (b, a, likeness.T)):
        attended = torch.softmax(scores, dim=1) @ other
        enhanced = torch.cat([own, attended, own - attended, own * attended], dim=1)
        projected = torch.relu(network.projection(enhanced))[None]
        composed = network.composition(projected, torch.ones(1, len(own), dtype=torch.bool))[0]
        pooled += [composed.mean(dim=0), composed.amax(dim=0)]
    expected = network.output(torch.cat(pooled))
    together = network(*vectors(EXAMPLES))[4]
    torch.testing.assert_close(together, expected, atol=1e-5, rtol=0)


def test_the_order_of_the_two_texts_counts() -> None:
    network = model().eval()
    premise, hypothesis = vectors(EXAMPLES)
    assert not torch.allclose(network(premise, hypothesis), network(hypothesis, premise))


def test_the_mix_at_the_output_counts() -> None:
    network = model(output_dim=7).eval()
    premise, hypothesis = vectors(EXAMPLES, 7)
    other = premise._replace(at_output=premise.at_output * 2)
    assert not torch.allclose(network(premise, hypothesis), network(other, hypothesis))


@pytest.mark.parametrize("output_dim", [0, 7])
def test_it_learns(output_dim: int) -> None:
    network = model(output_dim, dropout=0.1, attention_dropout=0.1, output_dropout=0.1)
    predictions = trained(
        TASK, EXAMPLES, model=network, labels=LABELS, steps=80, rate=1e-2, output_size=output_dim
    )
    assert TASK.score(EXAMPLES, predictions)["accuracy"] == 100.0


def test_dropout_follows_the_seed() -> None:
    network = model()
    torch.manual_seed(1)
    first = losses(network, EXAMPLES)
    second = losses(network, EXAMPLES)
    torch.manual_seed(1)
    assert torch.equal(first, losses(network, EXAMPLES))
    assert not torch.equal(first, second)


@pytest.mark.parametrize(
    "asked",
    [
        {"premise": "A man runs.", "hypothesis": "He moves."},
        {"premise": ["A", "man", "runs", "."], "hypothesis": "He moves.", "id": 3},
        ("A man runs.", "He moves."),
        ["A man runs.", ["He", "moves", "."]],
        "A man runs.\tHe moves.",
    ],
)
def test_answers_to_questions(asked: object) -> None:
    network = model().eval()
    examples = TASK.parse(asked, WordTokeniser(), LABELS)
    targets = TASK.targets(examples, LABELS)
    assert targets == {}
    [prediction] = network.predict(vectors(examples), targets)
    answer = TASK.answer(examples[0], prediction)
    assert json.loads(json.dumps(answer)) == answer
    assert answer["premise"] == ["A", "man", "runs", "."]
    assert answer["hypothesis"] == ["He", "moves", "."]
    assert list(answer["probabilities"]) == LABELS["classes"]
    assert answer["probabilities"][answer["label"]] == max(answer["probabilities"].values())


def test_an_answer_as_people_read_it() -> None:
    answer = TASK.answer(EXAMPLES[0], Choice("neutral", {"neutral": 1.0}))
    assert TASK.show(answer) == "neutral (100.0 %): a man runs => a man moves"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("A man runs.", "text: expected premise and hypothesis, .* found 'A man runs.'"),
        ("a\tb\tc", "text: expected premise and hypothesis"),
        (["a", "b", "c"], "text: expected premise and hypothesis"),
        ({"premise": "a"}, "text: expected premise and hypothesis, .* found {'premise': 'a'}"),
        (7, "text: expected premise and hypothesis, .* found 7"),
        ("a\t ", "hypothesis: expected at least one word, found ' '"),
        (("a", 7), "hypothesis: expected a text or a list of tokens, found 7"),
    ],
)
def test_what_cannot_be_asked_is_named(asked: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.parse(asked, WordTokeniser(), LABELS)


def test_defaults_survive_json() -> None:
    defaults = TASK.defaults()
    assert defaults.from_dict(json.loads(json.dumps(defaults.to_dict()))) == defaults


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dim": 0}, "hidden_dim: expected 1 or more, found 0"),
        ({"dropout": 1.0}, "dropout: expected 0 up to but not 1, found 1.0"),
        ({"attention_dropout": -0.5}, "attention_dropout: expected 0 up to but not 1"),
        ({"output_dropout": 1.5}, "output_dropout: expected 0 up to but not 1, found 1.5"),
    ],
)
def test_impossible_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SnliSettings(**changes)
