"""Textual entailment: whether a hypothesis follows from a premise, contradicts it, or neither."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmokit.errors import InputError
from elmokit.tasks.classification import (
    Choice,
    asked_tokens,
    check_classes,
    class_labels,
    class_targets,
    shown_choice,
)
from elmokit.tasks.settings import ModelSettings, TaskSettings
from elmokit.tasks.snli.data import SnliExample, read_examples
from elmokit.tasks.snli.metric import pair_scores
from elmokit.tasks.snli.model import SnliModel
from elmokit.tasks.snli.settings import DEFAULTS, SnliSettings
from elmokit.tasks.task import Labels, Targets, Tokenise, Tokens


class SnliTask:
    """One class for each pair of texts; the classes are those of the training data."""

    name = "snli"
    title = "SNLI"
    metric = "accuracy"
    answers_once = True
    one_at_a_time = False

    def defaults(self) -> TaskSettings:
        """Give the recipe for some ten thousand pairs; with all of SNLI fewer epochs do."""
        return DEFAULTS

    def read(self, file: Path) -> list[SnliExample]:
        """Read records: see `read_examples`."""
        return read_examples(file)

    def labels(self, examples: Sequence[SnliExample]) -> Labels:
        """Give ``classes``."""
        return class_labels(examples)

    def check(self, examples: Sequence[SnliExample], labels: Labels, file: Path) -> None:
        """Raise an error where an example has an unknown class."""
        check_classes(examples, labels, file)

    def texts(self, examples: Sequence[SnliExample]) -> list[list[Tokens]]:
        """Give the premises, then the hypotheses."""
        return [[example.premise for example in examples], [e.hypothesis for e in examples]]

    def targets(self, examples: Sequence[SnliExample], labels: Labels) -> Targets:
        """Give ``label`` (B,), or nothing where there is none."""
        return class_targets(examples, labels)

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> SnliModel:
        """Make the model."""
        assert isinstance(settings, SnliSettings)
        return SnliModel(
            settings, input_dim=input_dim, output_dim=output_dim, classes=labels["classes"]
        )

    def score(
        self, examples: Sequence[SnliExample], predictions: Sequence[Choice]
    ) -> Mapping[str, float]:
        """Give ``accuracy``, ``macro_f1``, ``f1/<class>``, ``accuracy/<kind>``."""
        return pair_scores(examples, predictions)

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[SnliExample]:
        """Make an example of a mapping with ``premise`` and ``hypothesis``, or of a pair of them.

        Each is a text or the list of its tokens. One string is a pair with a tab in between.
        """
        premise, hypothesis = _pair(text)
        return [
            SnliExample(
                premise=asked_tokens(premise, tokenise, "premise"),
                hypothesis=asked_tokens(hypothesis, tokenise, "hypothesis"),
            )
        ]

    def answer(self, example: SnliExample, prediction: Choice) -> dict[str, Any]:
        """Give ``premise``, ``hypothesis``, ``label`` and ``probabilities`` by class."""
        return {
            "premise": list(example.premise),
            "hypothesis": list(example.hypothesis),
            **prediction._asdict(),
        }

    def show(self, answer: dict[str, Any]) -> str:
        """Give the class, how probable it is, and the two texts."""
        premise, hypothesis = (" ".join(answer[name]) for name in ("premise", "hypothesis"))
        return f"{shown_choice(answer)}: {premise} => {hypothesis}"


def _pair(text: Any) -> tuple[Any, Any]:
    if isinstance(text, Mapping):
        if "premise" in text and "hypothesis" in text:
            return text["premise"], text["hypothesis"]
    else:
        parts = text.split("\t") if isinstance(text, str) else text
        if isinstance(parts, list | tuple) and len(parts) == 2:
            return parts[0], parts[1]
    raise InputError(
        "text: expected premise and hypothesis, as a mapping, a pair, "
        f"or a string with a tab in between, found {text!r}"
    )


TASK = SnliTask()
