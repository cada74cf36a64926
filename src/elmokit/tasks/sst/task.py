"""Sentiment of sentences, or any other classes of short texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmokit.tasks.classification import (
    Choice,
    asked_tokens,
    check_classes,
    class_labels,
    class_scores,
    class_targets,
    shown_choice,
)
from elmokit.tasks.settings import ModelSettings, TaskSettings
from elmokit.tasks.sst.data import SstExample, read_examples
from elmokit.tasks.sst.model import SstModel
from elmokit.tasks.sst.settings import DEFAULTS, SstSettings
from elmokit.tasks.task import Labels, Targets, Tokenise, Tokens


class SstTask:
    """One class for each text; the classes are those of the training data."""

    name = "sst"
    title = "SST-5"
    metric = "accuracy"
    answers_once = True
    one_at_a_time = False

    def defaults(self) -> TaskSettings:
        """Give the recipe for training on the phrases of SST-5."""
        return DEFAULTS

    def read(self, file: Path) -> list[SstExample]:
        """Read records, or trees with a class at each node: see `read_examples`."""
        return read_examples(file)

    def labels(self, examples: Sequence[SstExample]) -> Labels:
        """Give ``classes``."""
        return class_labels(examples)

    def check(self, examples: Sequence[SstExample], labels: Labels, file: Path) -> None:
        """Raise an error where an example has an unknown class."""
        check_classes(examples, labels, file)

    def texts(self, examples: Sequence[SstExample]) -> list[list[Tokens]]:
        """Give the one text of each example."""
        return [[example.tokens for example in examples]]

    def targets(self, examples: Sequence[SstExample], labels: Labels) -> Targets:
        """Give ``label`` (B,), or nothing where there is none."""
        return class_targets(examples, labels)

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> SstModel:
        """Make the model."""
        assert isinstance(settings, SstSettings)
        return SstModel(
            settings, input_dim=input_dim, output_dim=output_dim, classes=labels["classes"]
        )

    def score(
        self, examples: Sequence[SstExample], predictions: Sequence[Choice]
    ) -> Mapping[str, float]:
        """Give ``accuracy``, ``macro_f1`` and ``f1/<class>``: see `class_scores`."""
        return class_scores(examples, predictions)

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[SstExample]:
        """Make an example of a text, or of the list of its tokens."""
        return [SstExample(asked_tokens(text, tokenise, "text"))]

    def answer(self, example: SstExample, prediction: Choice) -> dict[str, Any]:
        """Give ``tokens``, ``label`` and ``probabilities`` by class."""
        return {"tokens": list(example.tokens), **prediction._asdict()}

    def show(self, answer: dict[str, Any]) -> str:
        """Give the class, how probable it is, and the text."""
        return f"{shown_choice(answer)}: {' '.join(answer['tokens'])}"


TASK = SstTask()
