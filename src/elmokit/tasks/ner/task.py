"""Named entities as a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import FormatError
from elmokit.tasks.blocks.bio import OUTSIDE, Span, tags_of
from elmokit.tasks.classification import asked_tokens
from elmokit.tasks.ner.data import NerExample, read_ner
from elmokit.tasks.ner.metric import entity_scores
from elmokit.tasks.ner.model import NerModel
from elmokit.tasks.ner.settings import NerModelSettings
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings
from elmokit.tasks.task import Labels, Targets, TaskModel, Tokenise, Tokens

PREFIXES = "BIES"


class NerTask:
    """Which names stand in a sentence, and what they name."""

    name = "ner"
    title = "NER"
    metric = "f1"
    answers_once = True
    one_at_a_time = False

    def defaults(self) -> TaskSettings:
        """Give the recipe for some ten thousand sentences."""
        return TaskSettings(
            recipe=Recipe(
                epochs=25,
                batch_size=16,
                learning_rate=1e-3,
                weight_decay=0.01,
                average=0.999,
                patience=12,
            ),
            inputs=InputSettings(
                train_vectors=True,
                word_dropout=0.05,
                character_filters=((2, 64), (3, 128), (4, 64)),
                character_dim=32,
                dropout=0.3,
                elmo_at="input",
            ),
            model=NerModelSettings(),
        )

    def read(self, file: Path) -> list[NerExample]:
        """See `read_ner`."""
        return read_ner(file)

    def labels(self, examples: Sequence[NerExample]) -> Labels:
        """Give the kinds of entities."""
        return {"entities": sorted({span[0] for one in examples for span in one.spans or ()})}

    def check(self, examples: Sequence[NerExample], labels: Labels, file: Path) -> None:
        """Refuse nothing: an entity of an unknown kind counts as missed."""
        if not any(span[0] in labels["entities"] for one in examples for span in one.spans or ()):
            raise FormatError(
                file,
                "has no entity of a kind that the model knows",
                expected=", ".join(labels["entities"]),
            )

    def texts(self, examples: Sequence[NerExample]) -> list[list[Tokens]]:
        """Give the sentences."""
        return [[example.tokens for example in examples]]

    def targets(self, examples: Sequence[NerExample], labels: Labels) -> Targets:
        """Give the tags (B, T), -1 at padding."""
        if any(example.spans is None for example in examples):
            return {}
        numbers = {tag: number for number, tag in enumerate(_tags(labels))}
        tags = torch.full((len(examples), max(len(one.tokens) for one in examples)), -1)
        for row, example in enumerate(examples):
            # Of other data some kinds may not be known; nothing is trained on them.
            spans = [span for span in example.spans or () if span[0] in labels["entities"]]
            found = tags_of(spans, len(example.tokens), "IOBES")
            tags[row, : len(found)] = torch.tensor([numbers[tag] for tag in found])
        return {"tags": tags}

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> TaskModel:
        """Make the model."""
        assert isinstance(settings, NerModelSettings)
        return NerModel(
            input_dim=input_dim,
            output_dim=output_dim,
            hidden_dim=settings.hidden_dim,
            layers=settings.layers,
            dropout=settings.dropout,
            tags=_tags(labels),
        )

    def score(
        self, examples: Sequence[NerExample], predictions: Sequence[list[Span]]
    ) -> Mapping[str, float]:
        """See `entity_scores`."""
        return entity_scores([example.spans or () for example in examples], predictions)

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[NerExample]:
        """Take a raw sentence or a list of tokens."""
        del labels
        return [NerExample(asked_tokens(text, tokenise, "sentence"), None)]

    def answer(self, example: NerExample, prediction: list[Span]) -> dict[str, Any]:
        """Give ``tokens`` and ``entities`` with ``label``, ``first``, ``last`` and ``text``."""
        return {
            "tokens": list(example.tokens),
            "entities": [
                {
                    "label": label,
                    "first": first,
                    "last": last,
                    "text": " ".join(example.tokens[first : last + 1]),
                }
                for label, first, last in prediction
            ],
        }

    def show(self, answer: dict[str, Any]) -> str:
        """Give the sentence with ``[LABEL name]`` around its entities."""
        words = list(answer["tokens"])
        for entity in answer["entities"]:
            words[entity["first"]] = f"[{entity['label']} {words[entity['first']]}"
            words[entity["last"]] += "]"
        return " ".join(words)


def _tags(labels: Labels) -> list[str]:
    return [OUTSIDE, *(f"{prefix}-{name}" for name in labels["entities"] for prefix in PREFIXES)]


TASK = NerTask()
