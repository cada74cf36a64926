"""Sizes of the coreference model; defaults of Lee et al. 2017 where nothing else is said."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import ModelSettings


@dataclass(frozen=True, kw_only=True)
class CorefSettings(ModelSettings):
    """Encoder, spans, mentions, antecedents."""

    lstm_dim: int = 200
    """Size of a direction of the LSTM over each sentence."""
    lstm_layers: int = 1
    """Layers of that LSTM."""
    lstm_dropout: float = 0.4
    """Share of its output dropped; the paper also drops recurrent values, 0.2 of both."""
    widest: int = 15
    """Tokens of the widest span that can be a mention; the paper has 10."""
    spans_per_token: float = 0.4
    """How many spans are kept as possible mentions, as a share of the document's tokens."""
    antecedents: int = 50
    """With how many spans before it a span is compared closely (Lee et al. 2018)."""
    coarse_dim: int = 200
    """Size in which spans are compared cheaply to choose those antecedents."""
    hidden_dim: int = 150
    """Size of a hidden layer of the scorers."""
    hidden_layers: int = 2
    """Hidden layers of the scorers."""
    feature_dim: int = 20
    """Size of the vectors that stand for a width and for a distance."""
    dropout: float = 0.2
    """Share of the hidden layers and of those vectors dropped."""
    mention_weight: float = 1.0
    """How much it counts in the loss which spans are mentions; 0: not at all, as in the paper."""

    def __post_init__(self) -> None:
        for name in ("lstm_dim", "lstm_layers", "widest", "antecedents", "coarse_dim",
                     "hidden_dim", "hidden_layers", "feature_dim"):  # fmt: skip
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        for name in ("lstm_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"{name}: expected 0 up to but not 1, found {getattr(self, name)!r}"
                )
        # Up to 1 there are always enough spans: each token is one.
        if not 0 < self.spans_per_token <= 1:
            raise InputError(
                f"spans_per_token: expected above 0 and up to 1, found {self.spans_per_token!r}"
            )
        if not self.mention_weight >= 0:
            raise InputError(f"mention_weight: expected 0 or more, found {self.mention_weight!r}")
