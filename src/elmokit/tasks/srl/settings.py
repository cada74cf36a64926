"""Sizes of the model for semantic roles."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import ModelSettings


@dataclass(frozen=True, kw_only=True)
class SrlModelSettings(ModelSettings):
    """The deep highway LSTM of He et al. (2017)."""

    hidden_dim: int = 300
    """Size of a layer."""
    layers: int = 8
    """Layers, every other one of them backwards."""
    predicate_dim: int = 100
    """Size of the vector that tells whether a token is the predicate."""
    dropout: float = 0.1
    """Share of each layer's outputs that are dropped, alike for all tokens of a sentence."""

    def __post_init__(self) -> None:
        for name in ("hidden_dim", "layers", "predicate_dim"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout: expected 0 up to but not 1, found {self.dropout!r}")
