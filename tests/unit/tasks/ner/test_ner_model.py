"""The model for named entities."""

import pytest
import torch

from elmokit.errors import InputError
from elmokit.tasks.ner.data import NerExample
from elmokit.tasks.ner.settings import NerModelSettings
from elmokit.tasks.ner.task import TASK
from elmokit.tasks.task import TaskModel
from elmokit.text.tokenise import WordTokeniser
from task_vectors import text_vectors, trained

EXAMPLES = [
    NerExample(("Ada", "Lovelace", "met", "Charles", "."), (("PER", 0, 1), ("PER", 3, 3))),
    NerExample(("She", "lived", "in", "New", "York", "City"), (("LOC", 3, 5),)),
    NerExample(("Nobody", "here"), ()),
    NerExample(("Paris",), (("LOC", 0, 0),)),
    NerExample(("Ada", "in", "Paris", "and", "New", "York"),
               (("PER", 0, 0), ("LOC", 2, 2), ("LOC", 4, 5))),
]  # fmt: skip
LABELS = TASK.labels(EXAMPLES)


def model(output_dim: int = 0, seed: int = 0) -> TaskModel:
    torch.manual_seed(seed)
    settings = NerModelSettings(hidden_dim=16, layers=2, dropout=0.1)
    return TASK.build(settings, input_dim=24, output_dim=output_dim, labels=LABELS)


@pytest.mark.parametrize("output_dim", [0, 8])
def test_a_few_sentences_are_learnt_by_heart(output_dim: int) -> None:
    found = trained(
        TASK, EXAMPLES, model=model(output_dim), labels=LABELS, steps=120, rate=1e-2,
        output_size=output_dim,
    )  # fmt: skip
    assert found == [list(example.spans or ()) for example in EXAMPLES]
    assert TASK.score(EXAMPLES, found)["f1"] == 100.0


def test_a_sentence_alone_has_the_loss_that_it_has_in_a_batch() -> None:
    network = model().eval()
    (together,) = TASK.texts(EXAMPLES)
    losses = network.losses([text_vectors(together)], TASK.targets(EXAMPLES, LABELS))
    assert losses.shape == (len(EXAMPLES),)
    for example, loss in zip(EXAMPLES, losses, strict=True):
        alone = network.losses([text_vectors([example.tokens])], TASK.targets([example], LABELS))
        # Products of other shapes are summed in another order.
        torch.testing.assert_close(alone[0], loss, atol=1e-5, rtol=1e-5)


def test_what_is_asked_about_is_parsed_and_answered() -> None:
    tokenise = WordTokeniser()
    (example,) = TASK.parse("Ada lived in Paris.", tokenise, LABELS)
    assert example == NerExample(("Ada", "lived", "in", "Paris", "."), None)
    assert TASK.targets([example], LABELS) == {}
    assert TASK.parse(["Ada", "left"], tokenise, LABELS)[0].tokens == ("Ada", "left")
    assert TASK.answer(example, [("LOC", 3, 3)]) == {
        "tokens": ["Ada", "lived", "in", "Paris", "."],
        "entities": [{"label": "LOC", "first": 3, "last": 3, "text": "Paris"}],
    }
    for nothing in ("", "  ", [], ["a", ""]):
        with pytest.raises(InputError, match="sentence"):
            TASK.parse(nothing, tokenise, LABELS)


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="hidden_dim: expected 1 or more, found 0"):
        NerModelSettings(hidden_dim=0)
    with pytest.raises(InputError, match=r"dropout: .* found 1\.0"):
        NerModelSettings(dropout=1.0)
