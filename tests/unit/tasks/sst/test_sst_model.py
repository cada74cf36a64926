import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from elmokit.errors import FormatError, InputError
from elmokit.tasks.classification import Choice
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.sst.data import SstExample
from elmokit.tasks.sst.model import SstModel
from elmokit.tasks.sst.settings import SstSettings
from elmokit.tasks.sst.task import TASK
from elmokit.tasks.task import Task
from elmokit.text.tokenise import WordTokeniser
from task_vectors import text_vectors, trained

SMALL: dict[str, Any] = {"hidden_dim": 12, "output_dims": (20,), "output_dropouts": (0.1,)}
LABELS = {"classes": ["bad", "fair", "good"]}
EXAMPLES = [
    SstExample(tuple(text.split()), label)
    for text, label in [
        ("good", "good"),
        ("not good", "bad"),
        ("not bad at all", "good"),
        ("bad", "bad"),
        ("it is neither good nor bad , just a film like so many others", "fair"),
        ("neither good nor bad", "fair"),
        ("a good film", "good"),
        ("a film that is bad", "bad"),
    ]
]


def model(output_dim: int = 0, **changes: Any) -> SstModel:
    torch.manual_seed(5)
    settings = SstSettings(**(SMALL | changes))
    return TASK.build(settings, input_dim=24, output_dim=output_dim, labels=LABELS)


def losses(network: SstModel, examples: list[SstExample], output_dim: int = 0) -> torch.Tensor:
    texts = [text_vectors(role, 24, output_dim) for role in TASK.texts(examples)]
    return network.losses(texts, TASK.targets(examples, LABELS))


def test_it_is_a_task() -> None:
    task: Task[SstExample] = TASK
    assert (task.name, task.title, task.metric) == ("sst", "SST-5", "accuracy")


def test_labels_and_check() -> None:
    assert TASK.labels(EXAMPLES) == LABELS
    TASK.check(EXAMPLES, LABELS, Path("dev"))
    with pytest.raises(FormatError, match=r"example 1 has a label .* found 'odd'"):
        TASK.check([SstExample(("a",), "odd")], LABELS, Path("dev"))


@pytest.mark.parametrize("output_dim", [0, 7])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_an_example_counts_the_same_alone_and_in_any_batch(
    output_dim: int, batch_norm: bool
) -> None:
    network = model(output_dim, batch_norm=batch_norm)
    losses(network, EXAMPLES, output_dim)  # so that the running averages are moved
    network.eval()
    together = losses(network, EXAMPLES, output_dim)
    assert together.dtype == torch.float32
    alone = torch.cat([losses(network, [example], output_dim) for example in EXAMPLES])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_padding_does_not_count_whatever_stands_there() -> None:
    network = model(output_dim=7).eval()
    [text] = [text_vectors(role, 24, 7) for role in TASK.texts(EXAMPLES)]
    assert text.at_output is not None
    padding = ~text.mask[:, :, None]
    dirty = text._replace(
        inputs=torch.where(padding, 100.0, text.inputs),
        at_output=torch.where(padding, -100.0, text.at_output),
    )
    torch.testing.assert_close(network(text), network(dirty))


def test_loss_without_knowledge_is_that_of_chance() -> None:
    network = model().eval()
    for parameter in network.output.parameters():
        nn.init.zeros_(parameter)
    expected = torch.full((len(EXAMPLES),), 3.0).log()
    torch.testing.assert_close(losses(network, EXAMPLES), expected)


def test_the_mix_at_the_output_counts() -> None:
    network = model(output_dim=7).eval()
    [text] = [text_vectors(role, 24, 7) for role in TASK.texts(EXAMPLES)]
    assert text.at_output is not None
    other = text._replace(at_output=text.at_output * 2)
    assert not torch.allclose(network(text), network(other))


def test_pools_largest_smallest_mean_and_weighted_mean() -> None:
    network = model(hidden_dim=1)
    nn.init.zeros_(network.pooling.weight)
    with torch.no_grad():
        network.pooling.weight[0, 0] = torch.tensor(3.0).log()
    tokens = torch.tensor([[[0.0, 4.0], [1.0, -2.0], [50.0, -50.0]]])
    mask = torch.tensor([[True, True, False]])
    # The weights are softmax(0, log 3) = 1/4, 3/4.
    expected = torch.tensor([[1.0, 4.0, 0.0, -2.0, 0.5, 1.0, 0.75, -0.5]])
    torch.testing.assert_close(network._pooled(tokens, mask), expected)


@pytest.mark.parametrize(
    ("output_dim", "batch_norm"), [(0, False), (7, False), (0, True), (7, True)]
)
def test_it_learns(output_dim: int, batch_norm: bool) -> None:
    network = model(output_dim, batch_norm=batch_norm)
    predictions = trained(
        TASK, EXAMPLES, model=network, labels=LABELS, steps=60, rate=1e-2, output_size=output_dim
    )
    assert TASK.score(EXAMPLES, predictions)["accuracy"] == 100.0


def test_training_takes_a_batch_of_one_with_batch_norm() -> None:
    network = model(batch_norm=True)
    assert losses(network, EXAMPLES[:1]).isfinite().all()


def test_dropout_follows_the_seed() -> None:
    network = model()
    torch.manual_seed(1)
    first = losses(network, EXAMPLES)
    second = losses(network, EXAMPLES)
    torch.manual_seed(1)
    assert torch.equal(first, losses(network, EXAMPLES))
    assert not torch.equal(first, second)


def test_answers_to_questions() -> None:
    network = model().eval()
    for asked in ("It isn't good.", ["It", "is", "n't", "good", "."]):
        examples = TASK.parse(asked, WordTokeniser(), LABELS)
        targets = TASK.targets(examples, LABELS)
        assert targets == {}
        texts = [text_vectors(role) for role in TASK.texts(examples)]
        [prediction] = network.predict(texts, targets)
        answer = TASK.answer(examples[0], prediction)
        assert json.loads(json.dumps(answer)) == answer
        assert answer["tokens"] == ["It", "is", "n't", "good", "."]
        assert list(answer["probabilities"]) == LABELS["classes"]
        assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
        assert answer["probabilities"][answer["label"]] == max(answer["probabilities"].values())


def test_an_answer_as_people_read_it() -> None:
    answer = TASK.answer(EXAMPLES[1], Choice("bad", {"bad": 0.8125, "good": 0.1875}))
    assert TASK.show(answer) == "bad (81.2 %): not good"


def test_score() -> None:
    predictions = [Choice(e.label or "", {}) for e in EXAMPLES[:3]] + [Choice("good", {})] * 5
    scores = TASK.score(EXAMPLES, predictions)
    assert scores["accuracy"] == pytest.approx(100 * 4 / 8)
    assert set(scores) == {"accuracy", "macro_f1", "f1/bad", "f1/fair", "f1/good"}


def test_defaults_survive_json() -> None:
    defaults = TASK.defaults()
    written: TaskSettings = defaults.from_dict(json.loads(json.dumps(defaults.to_dict())))
    assert written == defaults
    assert defaults.changed(["batch_norm=true"]).model == SstSettings(batch_norm=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dim": 0}, "hidden_dim: expected 1 or more, found 0"),
        ({"pieces": 0}, "pieces: expected 1 or more, found 0"),
        ({"dropout": 1.0}, "dropout: expected 0 up to but not 1, found 1.0"),
        ({"integrator_dropout": -0.1}, "integrator_dropout: expected 0 up to but not 1"),
        ({"output_dims": (0, 5)}, r"output_dims: expected sizes above 0, found \(0, 5\)"),
        ({"output_dropouts": (0.1, 2.0)}, "output_dropouts: expected 0 up to but not 1"),
        ({"output_dims": (5,)}, r"output_dropouts: expected one for each of output_dims \(5,\)"),
    ],
)
def test_impossible_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SstSettings(**changes)
