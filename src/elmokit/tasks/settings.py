"""How a task is trained: frozen dataclasses, each task with defaults of its own."""

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from elmokit.config import ConfigFields, parsed_change
from elmokit.errors import InputError
from elmokit.tasks.inputs.lexicon import MOST_CHARACTERS
from elmokit.training.schedule import Decay

ElmoPlace = Literal["input", "output", "both"]
ElmoForm = Literal["layers", "directions"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class Recipe(ConfigFields):
    """The training of a task model."""

    epochs: int = 30
    """Passes over the training data, unless it stops early."""
    batch_size: int = 32
    """Examples in a step, over all processes."""
    learning_rate: float = 1e-3
    """The highest learning rate (AdamW)."""
    warm_up: float = 0.0
    """Epochs over which the learning rate rises."""
    decay: Decay = "linear"
    """How the learning rate falls: ``none``, ``linear``, ``cosine``."""
    final_share: float = 0.0
    """Where it falls to, as a share of the highest."""
    weight_decay: float = 0.0
    """Weight decay of AdamW."""
    beta2: float = 0.999
    """How slowly AdamW forgets squared gradients."""
    clip: float | None = 5.0
    """Largest joint norm of the gradients; None: no limit."""
    average: float | None = None
    """Evaluate with a moving average of the weights that keeps this share at a step."""
    patience: int | None = 10
    """Epochs without a better score on the dev data after which training ends; None: never."""
    precision: Precision = "float32"
    """Type of products on a GPU: ``float32`` or ``bfloat16``."""
    seed: int = 0
    """Decides weights, order of examples and dropout."""

    def __post_init__(self) -> None:
        _require(self, "above 0", lambda v: v > 0, "epochs", "batch_size", "learning_rate", "clip",
                 "patience")  # fmt: skip
        _require(self, "0 or more", lambda v: v >= 0, "warm_up", "weight_decay", "seed")
        _require(self, "0 to 1", lambda v: 0 <= v <= 1, "final_share")
        _require(self, "0 up to but not 1", lambda v: 0 <= v < 1, "beta2", "average")


@dataclass(frozen=True, kw_only=True)
class InputSettings(ConfigFields):
    """What a token's vector is put together from."""

    vectors: bool = True
    """Whether there are static vectors: those of a file, or learnt ones where none is given."""
    vector_dim: int = 100
    """Size of learnt vectors where no file is given."""
    train_vectors: bool = False
    """Whether the vectors of the file are trained too; words that it lacks always are."""
    most_vectors: int = 100_000
    """How many words of the file are kept, besides those that the data hold."""
    min_count: int = 2
    """How often a word that the file lacks must occur in the training data to get a vector."""
    word_dropout: float = 0.0
    """Share of tokens whose static vector is replaced by that of unknown words in training."""
    capitals: float = 0.0
    """Share of texts that are read as if written in capitals in training, as headlines are."""
    character_filters: tuple[tuple[int, int], ...] = ()
    """Width and number of a character CNN's filters; none: no characters."""
    character_dim: int = 16
    """Size of a character's vector."""
    dropout: float = 0.0
    """Share of the static and character numbers dropped in training."""
    elmo_at: ElmoPlace = "input"
    """Where the mix enters: ``input``, ``output`` or ``both`` (two mixes)."""
    elmo_layers: tuple[int, ...] = ()
    """Layers that are mixed, 0 the one before context, -1 the top one; none: all."""
    elmo_form: ElmoForm = "layers"
    """``layers``: a weight for each layer; ``directions``: one for each of its directions."""
    elmo_weights: tuple[float, ...] | None = None
    """Weights of the mix before the softmax that stay fixed; None: learnt."""
    elmo_layer_norm: bool = False
    """Whether layers are normalised before they are mixed."""
    elmo_l2: float = 0.001
    """The paper's lambda: how strongly the mix weights are drawn together."""
    elmo_dropout: float = 0.5
    """Share of the mix dropped in training."""
    train_elmo: bool = False
    """Whether the biLM is trained too; then its layers cannot be computed once."""

    def __post_init__(self) -> None:
        _require(
            self,
            "above 0",
            lambda v: v > 0,
            "vector_dim",
            "most_vectors",
            "min_count",
            "character_dim",
        )
        _require(self, "0 or more", lambda v: v >= 0, "elmo_l2")
        _require(self, "0 up to but not 1", lambda v: 0 <= v < 1, "word_dropout", "capitals",
                 "dropout", "elmo_dropout")  # fmt: skip
        for width, number in self.character_filters:
            if not 1 <= width <= MOST_CHARACTERS or number < 1:
                raise InputError(
                    f"character_filters: expected widths of 1 to {MOST_CHARACTERS} and numbers "
                    f"above 0, found {[width, number]}"
                )


@dataclass(frozen=True, kw_only=True)
class ModelSettings(ConfigFields):
    """Sizes of a task's own model; each task has a subclass with what it needs."""


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """Everything that can be chosen about a task."""

    recipe: Recipe = field(default_factory=Recipe)
    inputs: InputSettings = field(default_factory=InputSettings)
    model: ModelSettings = field(default_factory=ModelSettings)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {f.name: getattr(self, f.name).to_dict() for f in fields(self)}

    def changed(self, changes: list[str]) -> "TaskSettings":
        """Apply changes written ``key=value``, as ``epochs=5`` or ``elmo_at=both``.

        A key is a field of the recipe, the inputs or the model, written ``model.dropout`` where
        several have it; a value is JSON, or a plain word.
        """
        parts = self.to_dict()
        for change in changes:
            key, value = parsed_change(change)
            home, name = _home(parts, key)
            home[name] = value
        return self.from_dict(parts)

    def from_dict(self, values: Any, where: str = "settings") -> "TaskSettings":
        """Read what `to_dict` gave for settings of the same task."""
        if not isinstance(values, dict) or set(values) != {f.name for f in fields(self)}:
            raise InputError(f"{where}: expected recipe, inputs and model, found {values!r}")
        return TaskSettings(
            **{
                f.name: type(getattr(self, f.name)).from_dict(values[f.name], f"{where}.{f.name}")
                for f in fields(self)
            }
        )


def _home(parts: dict[str, dict[str, Any]], key: str) -> tuple[dict[str, Any], str]:
    """Find the part of the settings that a key belongs to, and its name there."""
    places = [f"{part}.{name}" for part, fields in parts.items() for name in fields]
    fitting = [place for place in places if key in (place, place.partition(".")[2])]
    if not fitting:
        names = sorted({place.partition(".")[2] for place in places})
        raise InputError(f"set: unknown key {key!r}; known keys are {', '.join(names)}")
    if len(fitting) > 1:
        raise InputError(f"set: {key!r} is ambiguous; write {' or '.join(fitting)}")
    part, _, name = fitting[0].partition(".")
    return parts[part], name


def _require(config: object, expected: str, holds: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not (math.isfinite(value) and holds(value)):
            raise InputError(f"{name}: expected a number {expected}, found {value!r}")
