"""Sizes of the model for named entities."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import ModelSettings


@dataclass(frozen=True, kw_only=True)
class NerModelSettings(ModelSettings):
    """A biLSTM with a CRF."""

    hidden_dim: int = 256
    """Size of a direction of the biLSTM."""
    layers: int = 2
    """Layers of the biLSTM."""
    dropout: float = 0.5
    """Share of numbers dropped before and after every LSTM layer, alike for all tokens."""

    def __post_init__(self) -> None:
        for name in ("hidden_dim", "layers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout: expected 0 up to but not 1, found {self.dropout!r}")
