"""Sizes of the sentiment model, and how it is trained."""

from dataclasses import dataclass

from elmokit.errors import InputError
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings


@dataclass(frozen=True, kw_only=True)
class SstSettings(ModelSettings):
    """A biattentive classification network; sizes as in McCann et al. and AllenNLP."""

    hidden_dim: int = 300
    """Size of the layer before the encoder, and of a direction of both biLSTMs."""
    dropout: float = 0.4
    """Share of the encoder's inputs dropped in training."""
    integrator_dropout: float = 0.1
    """Share of what the integrator gives that is dropped in training."""
    output_dims: tuple[int, ...] = (1200, 600)
    """Sizes of the maxout layers before the last, which gives the classes."""
    output_dropouts: tuple[float, ...] = (0.4, 0.4)
    """Share of what each of them gives that is dropped in training."""
    pieces: int = 4
    """Linear units of which a maxout unit takes the largest."""
    batch_norm: bool = False
    """Whether numbers are batch-normalised before each maxout layer, as in McCann et al.

    Not by default: a batch holds texts of like length, whose statistics are not those of all;
    the authors of the ELMo paper too found the network worse with it.
    """

    def __post_init__(self) -> None:
        for name in ("hidden_dim", "pieces"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected 1 or more, found {getattr(self, name)!r}")
        for name in ("dropout", "integrator_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name}: expected 0 up to but not 1, found {getattr(self, name)}")
        if not all(size > 0 for size in self.output_dims):
            raise InputError(f"output_dims: expected sizes above 0, found {self.output_dims}")
        if not all(0 <= share < 1 for share in self.output_dropouts):
            raise InputError(
                f"output_dropouts: expected 0 up to but not 1, found {self.output_dropouts}"
            )
        if len(self.output_dims) != len(self.output_dropouts):
            raise InputError(
                f"output_dropouts: expected one for each of output_dims {self.output_dims}, "
                f"found {self.output_dropouts}"
            )


DEFAULTS = TaskSettings(
    # With the phrases of the trees an epoch is 1,600 steps, and few epochs are enough.
    recipe=Recipe(
        epochs=8, batch_size=100, learning_rate=1e-3, clip=5.0, patience=5, average=0.999
    ),
    # The phrases say of most single words what they are worth, so their vectors are trained.
    inputs=InputSettings(train_vectors=True, dropout=0.4, elmo_at="input", elmo_dropout=0.5),
    model=SstSettings(),
)
