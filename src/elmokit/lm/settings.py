"""How a biLM is trained: one frozen dataclass, its defaults the paper's recipe."""

from dataclasses import dataclass, replace
from typing import Literal

from elmokit.config import ConfigFields
from elmokit.errors import InputError
from elmokit.training.optimiser import OptimiserName
from elmokit.training.schedule import Decay

Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class TrainSettings(ConfigFields):
    """A recipe of pretraining or fine-tuning."""

    epochs: float = 10.0
    """How often the text is read."""
    steps: int | None = None
    """Number of steps; overrides ``epochs``."""
    rows: int = 128
    """Streams of text read side by side, over all processes."""
    window: int = 20
    """Tokens of a stream in a step: the reach of backpropagation."""
    accumulation: int = 1
    """Parts that a batch is computed in, one after another, to save memory."""
    optimiser: OptimiserName = "adagrad"
    """``adagrad`` (the paper's) or ``adamw``."""
    learning_rate: float = 0.2
    """The highest learning rate."""
    warm_up: int = 0
    """Steps over which the learning rate rises."""
    decay: Decay = "none"
    """How the learning rate falls at the end: ``none``, ``linear``, ``cosine``."""
    decay_share: float = 1.0
    """The last share of the steps, over which it falls."""
    final_share: float = 0.0
    """Where it falls to, as a share of the highest."""
    weight_decay: float = 0.0
    """Weight decay of AdamW."""
    beta2: float = 0.999
    """How slowly AdamW forgets squared gradients."""
    clip: float | None = 10.0
    """Largest joint norm of the gradients; None: no limit."""
    sum_over_window: bool = True
    """Whether gradients are of the loss times ``window``, as in the original."""
    dropout: float = 0.1
    """Share of numbers dropped at every layer's input and before the softmax."""
    samples: int | None = 8192
    """Words drawn for the sampled softmax; None: the full softmax."""
    precision: Precision = "auto"
    """Type of matrix products; weights and sums stay in float32. ``auto``: ``bfloat16`` on a
    GPU, ``float32`` elsewhere."""
    document_resets: float = 0.0
    """Share of document starts at which a stream forgets what it has read."""
    sentence_resets: float = 0.0
    """Share of sentence starts at which a stream forgets what it has read."""
    vocabulary_size: int | None = None
    """Words to predict, marks included; None: as many as the corpus was prepared for."""
    tie_softmax: bool = False
    """Whether the word embedding and the softmax share their weights (word input alone)."""
    seed: int = 0
    """Decides weights, order of text, dropout and samples."""

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "rows", "window", "accumulation", "learning_rate", "clip",
                     "samples", "vocabulary_size"):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}: expected a number above 0, found {value!r}")
        for name in ("warm_up", "weight_decay", "seed"):
            if getattr(self, name) < 0:
                raise InputError(f"{name}: expected 0 or more, found {getattr(self, name)!r}")
        for name in ("decay_share", "final_share", "document_resets", "sentence_resets"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name}: expected 0 to 1, found {getattr(self, name)!r}")
        for name in ("dropout", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"{name}: expected 0 up to but not 1, found {getattr(self, name)!r}"
                )
        if self.rows % self.accumulation:
            raise InputError(
                f"accumulation: expected a divisor of rows ({self.rows}), found {self.accumulation}"
            )


def with_precision(settings: TrainSettings, device: str) -> TrainSettings:
    """Settle an ``auto`` precision for a kind of device."""
    if settings.precision != "auto":
        return settings
    return replace(settings, precision="bfloat16" if device == "cuda" else "float32")
