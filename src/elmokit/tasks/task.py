"""What a task is: a reader, labels, a model, a metric. The trainer knows nothing else of it.

B examples of a batch, T tokens of the longest text, D size of an input vector
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from torch import Tensor, nn

from elmokit.tasks.settings import ModelSettings, TaskSettings
from elmokit.text.tokenise import Token

Tokens = Sequence[str]
Labels = dict[str, Any]
"""What training data settle, such as the list of tags: plain JSON values."""
Targets = dict[str, Tensor]
"""What a batch's loss is computed against, by name."""

Tokenise = Callable[[str], Sequence[Token]]

Example = TypeVar("Example")


class TextVectors(NamedTuple):
    """A batch of texts as a task model gets it."""

    inputs: Tensor
    """(B, T, D): static vectors, characters and the mix at the input, joined; zero at padding."""
    at_output: Tensor | None
    """(B, T, E): the mix for the model's output, or None where none is wanted."""
    mask: Tensor
    """(B, T), True where there is a token; the tokens stand first."""
    words: Tensor
    """(B, T): the number of each distinct word form of the batch, lower-cased; -1 at padding."""


class TaskModel(nn.Module):
    """The part of a network that is the task's own; it never sees tokens, only their vectors."""

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the loss of each example (B,)."""
        raise NotImplementedError

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[Any]:
        """Give a prediction for each example; of the targets only what is known without them."""
        raise NotImplementedError


class Task(Protocol[Example]):
    """A task's definition; one object each, without state."""

    name: str
    """As in ``elmo task train NAME``."""
    title: str
    """As in a table."""
    metric: str
    """The key of `score` that decides which epoch is best: higher is better."""
    answers_once: bool
    """Whether `parse` always makes exactly one example, as most tasks do."""
    one_at_a_time: bool
    """Whether the model takes examples alone, because each is a document with many texts."""

    def defaults(self) -> TaskSettings:
        """Give the recipe that is used unless told otherwise."""
        ...

    def read(self, file: Path) -> list[Example]:
        """Read a file of the task's documented format."""
        ...

    def labels(self, examples: Sequence[Example]) -> Labels:
        """Settle labels from the training examples."""
        ...

    def check(self, examples: Sequence[Example], labels: Labels, file: Path) -> None:
        """Raise an error where examples to evaluate on do not fit the labels."""
        ...

    def texts(self, examples: Sequence[Example]) -> list[list[Tokens]]:
        """Give the texts of a batch of examples: one list for each role a text has in the task."""
        ...

    def targets(self, examples: Sequence[Example], labels: Labels) -> Targets:
        """Make the tensors that the model is trained against, a row for each example.

        One of two dimensions has a value for each token of the first role's texts, and -1 or False
        at padding, of which there may be more than these examples need. Examples of `parse` have
        no labels; for them only what `TaskModel.predict` needs is made.
        """
        ...

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> TaskModel:
        """Make the model for inputs of a size; ``output_dim`` 0: there is no mix at its output."""
        ...

    def score(self, examples: Sequence[Example], predictions: Sequence[Any]) -> Mapping[str, float]:
        """Give all figures of the task, in per cent, the deciding one among them."""
        ...

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[Example]:
        """Make examples without labels from one thing a user asks about: see the task's own."""
        ...

    def answer(self, example: Example, prediction: Any) -> dict[str, Any]:
        """Give a prediction as plain JSON values, with the tokens it speaks of."""
        ...

    def show(self, answer: dict[str, Any]) -> str:
        """Give what `answer` gave as people read it: a line or a few."""
        ...
