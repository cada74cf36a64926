"""Semantic roles as a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import FormatError
from elmokit.tasks.blocks.bio import OUTSIDE, Span, tags_of
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings
from elmokit.tasks.srl.ask import asked
from elmokit.tasks.srl.data import SrlExample, likely_predicates, read_srl
from elmokit.tasks.srl.metric import role_scores
from elmokit.tasks.srl.model import NO_TAG, SrlModel
from elmokit.tasks.srl.settings import SrlModelSettings
from elmokit.tasks.task import Labels, Targets, TaskModel, Tokenise, Tokens


class SrlTask:
    """Who did what to whom: the roles that parts of a sentence play with one of its predicates."""

    name = "srl"
    title = "SRL"
    metric = "f1"
    answers_once = False
    one_at_a_time = False

    def defaults(self) -> TaskSettings:
        """Give the recipe for some forty thousand predicates."""
        return TaskSettings(
            recipe=Recipe(
                epochs=30,
                batch_size=80,
                learning_rate=1e-3,
                warm_up=1.0,
                weight_decay=0.01,
                clip=1.0,
                average=0.999,
                patience=8,
            ),
            inputs=InputSettings(
                train_vectors=True, word_dropout=0.05, dropout=0.2, elmo_at="input"
            ),
            model=SrlModelSettings(),
        )

    def read(self, file: Path) -> list[SrlExample]:
        """See `read_srl`."""
        return read_srl(file)

    def labels(self, examples: Sequence[SrlExample]) -> Labels:
        """Give the ``roles``, and as ``predicates`` the words that `parse` takes for such."""
        return {
            "roles": sorted({span[0] for one in examples for span in one.spans or ()}),
            "predicates": likely_predicates(examples),
        }

    def check(self, examples: Sequence[SrlExample], labels: Labels, file: Path) -> None:
        """Refuse a file without any role that is known; a single unknown one counts as missed."""
        if not any(span[0] in labels["roles"] for one in examples for span in one.spans or ()):
            raise FormatError(
                file, "has no role that the model knows", expected=", ".join(labels["roles"])
            )

    def texts(self, examples: Sequence[SrlExample]) -> list[list[Tokens]]:
        """Give the sentences."""
        return [[example.tokens for example in examples]]

    def targets(self, examples: Sequence[SrlExample], labels: Labels) -> Targets:
        """Give the place of the ``predicate`` (B,) and the ``tags`` (B, T), -1 at padding."""
        targets = {"predicate": torch.tensor([example.predicate for example in examples])}
        if any(example.spans is None for example in examples):
            return targets
        numbers = {tag: number for number, tag in enumerate(_tags(labels))}
        longest = max(len(example.tokens) for example in examples)
        rows = []
        for example in examples:
            row = [
                numbers.get(tag, NO_TAG)
                for tag in tags_of(example.spans or (), len(example.tokens))
            ]
            rows.append(row + [NO_TAG] * (longest - len(row)))
        return targets | {"tags": torch.tensor(rows)}

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> TaskModel:
        """Make the model."""
        assert isinstance(settings, SrlModelSettings)
        return SrlModel(
            input_dim=input_dim,
            output_dim=output_dim,
            hidden_dim=settings.hidden_dim,
            layers=settings.layers,
            predicate_dim=settings.predicate_dim,
            dropout=settings.dropout,
            tags=_tags(labels),
        )

    def score(
        self, examples: Sequence[SrlExample], predictions: Sequence[list[Span]]
    ) -> Mapping[str, float]:
        """See `role_scores`."""
        return role_scores([example.spans or () for example in examples], predictions)

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[SrlExample]:
        """See `asked`: one example for each predicate, which may be none."""
        return asked(text, tokenise, frozenset(labels["predicates"]))

    def answer(self, example: SrlExample, prediction: list[Span]) -> dict[str, Any]:
        """Give ``tokens``, ``predicate`` and its place ``pred``, and ``spans``.

        A span has a ``label``, its ``first`` and ``last`` token, and their ``text``.
        """
        return {
            "tokens": list(example.tokens),
            "pred": example.predicate,
            "predicate": example.tokens[example.predicate],
            "spans": [
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
        """Give the predicate, and the sentence with ``[LABEL words]`` around its roles."""
        words = list(answer["tokens"])
        for span in answer["spans"]:
            words[span["first"]] = f"[{span['label']} {words[span['first']]}"
            words[span["last"]] += "]"
        return f"{answer['predicate']}: {' '.join(words)}"


def _tags(labels: Labels) -> list[str]:
    return [OUTSIDE, *(f"{prefix}-{role}" for role in labels["roles"] for prefix in "BI")]


TASK = SrlTask()
