"""Sizes of the entailment model, and how it is trained."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings


@dataclass(frozen=True, kw_only=True)
class SnliSettings(ModelSettings):
    """An ESIM sequence model; sizes as in the ELMo paper.

    The paper drops 0.5 everywhere and has 550,000 pairs to learn from; the defaults are for some
    ten thousand, which take long to teach anything to a model that drops so much.
    """

    hidden_dim: int = 300
    """Size of a direction of both biLSTMs, and of the feedforward layers."""
    dropout: float = 0.2
    """Share of each biLSTM's inputs dropped in training, the same for all tokens of a text."""
    attention_dropout: float = 0.2
    """Share of what attention gives that is dropped in training, likewise."""
    output_dropout: float = 0.3
    """Share of the inputs of the last two layers dropped in training."""

    def __post_init__(self) -> None:
        if self.hidden_dim < 1:
            raise InputError(f"hidden_dim: expected 1 or more, found {self.hidden_dim!r}")
        for name in ("dropout", "attention_dropout", "output_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name}: expected 0 up to but not 1, found {getattr(self, name)}")


DEFAULTS = TaskSettings(
    recipe=Recipe(
        epochs=25, batch_size=64, learning_rate=5e-4, clip=5.0, patience=6, average=0.999
    ),
    # The model drops its inputs itself.
    inputs=InputSettings(dropout=0.0, elmo_at="both", elmo_dropout=0.0),
    model=SnliSettings(),
)
