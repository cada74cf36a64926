"""Sizes of the question-answering model."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import ModelSettings


@dataclass(frozen=True, kw_only=True)
class SquadSettings(ModelSettings):
    """BiDAF with self-attention; defaults of Clark & Gardner (2018) for SQuAD."""

    hidden_dim: int = 100
    """Size of each LSTM direction."""
    projection_dim: int = 200
    """Size of a token's vector after each attention."""
    dropout: float = 0.2
    """Share dropped before LSTMs and attention, alike at all tokens of a text."""
    longest_answer: int = 17
    """An answer has at most so many tokens; in training there is no limit."""

    def __post_init__(self) -> None:
        for name in ("hidden_dim", "projection_dim", "longest_answer"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise InputError(
                f"dropout: expected a number from 0 up to but not 1, found {self.dropout!r}"
            )
